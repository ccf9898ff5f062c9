(() => {
  const get = (id) => document.getElementById(id);
  const cards = [...document.querySelectorAll("#cards > .card")].map((card) => ({
    card,
    ranks: card.dataset.ranks.split(" ").map((rank) => Number(rank) || Infinity),
    text: card.textContent.toLowerCase(),
    parts: [...card.querySelectorAll("[data-of]")],
  }));
  const systems = get("one") !== null;
  const holds = {
    all: () => true,
    one: (a, b) => a < b,
    two: (a, b) => a > b,
    same: (a, b) => a === b && a < Infinity,
    none: (a, b) => a === Infinity && b === Infinity,
  };
  const update = () => {
    const words = get("find").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [one, two] = systems ? [Number(get("one").value), Number(get("two").value)] : [0, 0];
    const which = holds[systems ? get("which").value : "all"];
    const everyList = !systems || get("lists").value === "all";
    let shown = 0;
    for (const { card, ranks, text, parts } of cards) {
      card.hidden = !(which(ranks[one], ranks[two]) && words.every((word) => text.includes(word)));
      shown += !card.hidden;
      for (const part of parts) {
        part.hidden = !everyList && ![one, two].includes(Number(part.dataset.of));
      }
    }
    get("count").textContent = `${shown} of ${cards.length} queries`;
  };
  get("tools").hidden = false;
  for (const control of get("tools").querySelectorAll("input, select")) {
    control.addEventListener("input", update);
  }
  update();
})();
