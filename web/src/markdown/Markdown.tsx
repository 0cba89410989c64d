// A text as Markdown, drawn block by block: a block whose source did not change is left alone.

import { Component, createRef } from "preact";
import { Blocks } from "./blocks";
import { copyText } from "./copy";
import { toDom } from "./dom";

export class Markdown extends Component<{ text: string }> {
  #blocks = new Blocks();

  override shouldComponentUpdate(next: { text: string }): boolean {
    return next.text !== this.props.text;
  }

  override render({ text }: { text: string }) {
    return (
      <div class="markdown" data-testid="text" onClick={copyFrom}>
        {this.#blocks.of(text).map((raw, index) => (
          <Block key={index} raw={raw} />
        ))}
      </div>
    );
  }
}

class Block extends Component<{ raw: string }> {
  #place = createRef<HTMLDivElement>();

  override shouldComponentUpdate(next: { raw: string }): boolean {
    return next.raw !== this.props.raw;
  }

  override componentDidMount(): void {
    this.#draw();
  }

  override componentDidUpdate(): void {
    this.#draw();
  }

  #draw(): void {
    this.#place.current?.replaceChildren(toDom(this.props.raw));
  }

  override render() {
    return <div class="block" ref={this.#place} />;
  }
}

/** One handler for every copy button inside: their blocks are drawn anew while a reply grows. */
function copyFrom(event: MouseEvent): void {
  const button = event.target instanceof Element ? event.target.closest("button.copy") : null;
  const code = button?.closest(".code")?.querySelector("code");
  if (!button || !code) return;
  void copyText(code.textContent ?? "").then((done) => {
    button.textContent = done ? "Copied" : "Could not copy";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}
