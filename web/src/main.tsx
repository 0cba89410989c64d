import { render } from "preact";
import { App } from "./page/App";
import "./style/main.css";

render(<App />, document.getElementById("app")!);
