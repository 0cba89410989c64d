import { render } from "preact";
import { AdminApp } from "./AdminApp";
import "../style/admin.css";

render(<AdminApp />, document.getElementById("app")!);
