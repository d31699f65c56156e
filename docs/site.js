/** Tables that are wider than the page, mostly on a phone, become a block of lines for each row. */

function fit(table) {
  table.removeAttribute("data-stacked");
  const frame = table.closest(".md-typeset__scrollwrap") ?? table;
  table.toggleAttribute("data-stacked", frame.scrollWidth > frame.clientWidth + 1);
}

window.addEventListener("load", () => {
  const tables = [...document.querySelectorAll(".md-typeset table:not([class])")];
  for (const table of tables) {
    const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent);
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, k) => cell.setAttribute("data-label", heads[k] ?? ""));
    }
    fit(table);
  }
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) tables.forEach(fit);
    width = window.innerWidth;
  });
});
