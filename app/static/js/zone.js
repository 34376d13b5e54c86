// The browser knows where it is: a new account begins in its time zone, and the settings offer it.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";

for (const field of document.querySelectorAll("[data-zone]")) field.value = zone;

for (const offer of document.querySelectorAll("[data-zone-offer]")) {
  const list = document.getElementById(offer.dataset.zoneOffer);
  const known = [...list.options].some((option) => option.value === zone);
  const show = () => { offer.hidden = !known || list.value === zone; };
  offer.textContent = `This browser is in ${zone}: choose it`;
  offer.addEventListener("click", () => {
    list.value = zone;
    list.focus();
    show();
  });
  list.addEventListener("change", show);
  show();
}
