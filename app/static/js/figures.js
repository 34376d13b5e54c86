// Brings the figures of living.js to life: reads the controls, draws again, announces the values.

import { FIGURES, stateOf, svg, table } from "./living.js";

for (const root of document.querySelectorAll("[data-live]")) {
  const name = root.dataset.live;
  const figure = FIGURES[name];
  const plot = root.querySelector(".live-plot");
  const values = root.querySelector(".live-values tbody");
  const inputs = [...root.querySelectorAll("input, select")];
  const said = document.createElement("p");
  said.className = "visually-hidden";
  said.setAttribute("role", "status");
  root.append(said);
  let soon = 0;

  const show = () => {
    const places = Object.fromEntries(inputs.map((input) => [input.name, Number(input.value)]));
    const state = stateOf(figure, places);
    for (const input of inputs) {
      if (input.type !== "range") continue;
      const { said: words } = figure.controls.find((each) => each.name === input.name);
      const shown = words(state[input.name]);
      input.setAttribute("aria-valuetext", shown);
      input.previousElementSibling.textContent = shown; // for the eye; the value text is for the ear
    }
    plot.innerHTML = svg(name, figure, state); // our own text and numbers only
    values.innerHTML = table(figure, state);
    clearTimeout(soon);
    soon = setTimeout(() => { said.textContent = figure.rows(state).map(([label, value]) => `${label}: ${value}`).join("; "); }, 500);
  };
  for (const input of inputs) input.addEventListener("input", show);
  root.querySelector("fieldset").disabled = false;
}
