// Keys for the review: Space shows the answer, 1 to 4 grade, s puts off, u undoes. Each presses what is on the page.

const review = document.querySelector("[data-review]");
const single = document.body.dataset.shortcuts !== "off";

review?.querySelector("[data-first]")?.focus({ preventScroll: true });

if (review && single) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const onControl = event.target.closest("a, button, summary") && (event.key === "Enter" || event.key === " ");
    if (onControl && event.target.dataset.key !== event.key) return; // the control that has the focus is meant
    const control = [...review.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
    if (!control) return;
    event.preventDefault();
    control.click();
  });
}

// A second press while the page is on its way would only send the same token again.
for (const form of review?.querySelectorAll("form") ?? []) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  });
}
