// <tile-stepper>: shows one tile of a list of them, with a slider. Without this file the list stands as it is.
// A custom element, so that it also wakes up in a verdict that arrives later.

class TileStepper extends HTMLElement {
  connectedCallback() {
    this.turns = [...this.querySelectorAll(".turn")];
    if (this.turns.length < 2 || this.slider) return;
    this.links = [...this.querySelectorAll(".turn-strip a")];
    const first = Math.max(0, this.turns.findIndex((turn) => turn.classList.contains("first")));
    this.querySelector(".turn-strip").after(this.controls());
    this.addEventListener("click", (event) => {
      const at = this.links.indexOf(event.target.closest?.("a"));
      if (at < 0) return;
      event.preventDefault();
      history.replaceState(null, "", `#${this.turns[at].id}`);
      this.show(at);
    });
    this.follow = () => this.named(location.hash);
    addEventListener("hashchange", this.follow);
    if (!this.named(location.hash)) this.show(first);
  }

  disconnectedCallback() {
    if (this.follow) removeEventListener("hashchange", this.follow);
  }

  /** The slider between two buttons, and in words where it stands. */
  controls() {
    const bar = document.createElement("div");
    bar.className = "stepper-bar";
    this.slider = Object.assign(document.createElement("input"), { type: "range", min: 1, max: this.turns.length, step: 1 });
    this.slider.setAttribute("aria-label", "Tile");
    this.slider.addEventListener("input", () => this.show(this.slider.value - 1));
    this.words = document.createElement("span");
    this.words.className = "stepper-words";
    bar.append(this.button("Previous tile", "‹", -1), this.slider, this.button("Next tile", "›", 1), this.words);
    return bar;
  }

  button(label, sign, by) {
    const made = Object.assign(document.createElement("button"), { type: "button", className: "button quiet small", textContent: sign });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", () => this.show(this.at + by));
    return made;
  }

  /** Whether `hash` names one of the tiles; then it is shown. */
  named(hash) {
    const at = this.turns.findIndex((turn) => `#${turn.id}` === hash);
    if (at >= 0) this.show(at);
    return at >= 0;
  }

  show(at) {
    this.at = Math.min(Math.max(at, 0), this.turns.length - 1);
    this.turns.forEach((turn, number) => { turn.hidden = number !== this.at; });
    this.links.forEach((link, number) => {
      if (number === this.at) link.setAttribute("aria-current", "step");
      else link.removeAttribute("aria-current");
    });
    const words = this.turns[this.at].dataset.words;
    this.slider.value = this.at + 1;
    this.slider.setAttribute("aria-valuetext", words);
    this.words.textContent = words;
  }
}

customElements.define("tile-stepper", TileStepper);
