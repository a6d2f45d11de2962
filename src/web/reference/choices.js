// What the reader has chosen, kept in this browser.

/** @param {string} key */
export function readChoice(key) {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

/** @param {string} key @param {string} choice */
export function storeChoice(key, choice) {
  try {
    localStorage.setItem(key, choice)
  } catch {
    // Storage is switched off: the choice holds until the page is left.
  }
}
