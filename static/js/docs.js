// Opens the operation that the address names. The script is before the operations and opens
// theirs while the browser still reads the page, so that nothing moves afterwards.
{
  const openNamed = () => {
    const named = document.getElementById(location.hash.slice(1));
    if (!(named instanceof HTMLDetailsElement)) return null;
    named.open = true;
    return named;
  };
  const reader = new MutationObserver(() => { if (openNamed()) reader.disconnect(); });
  reader.observe(document, { childList: true, subtree: true });
  addEventListener("DOMContentLoaded", () => reader.disconnect());
  addEventListener("hashchange", () => openNamed()?.scrollIntoView());
}
