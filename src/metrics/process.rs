//! The process itself, looked at when it is asked for, under Prometheus's own names.

use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
};

#[derive(Debug)]
pub struct Process;

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let process = metrics_process::collector::collect();
        if let Some(seconds) = process.cpu_seconds_total {
            let counter = ConstCounter::new(seconds);
            let kind = counter.metric_type();
            counter.encode(encoder.encode_descriptor("process_cpu_seconds", "CPU time used", None, kind)?)?;
        }
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Resident memory", process.resident_memory_bytes),
            ("process_virtual_memory_bytes", "Virtual memory", process.virtual_memory_bytes),
            ("process_open_fds", "Open file descriptors", process.open_fds),
            ("process_max_fds", "File descriptors that may be open, 0 for any number", process.max_fds),
            ("process_threads", "Threads", process.threads),
            ("process_start_time_seconds", "Start of the process, in Unix time", process.start_time_seconds),
        ] {
            if let Some(value) = value {
                let gauge = ConstGauge::new(value as f64);
                let kind = gauge.metric_type();
                gauge.encode(encoder.encode_descriptor(name, help, None, kind)?)?;
            }
        }
        Ok(())
    }
}
