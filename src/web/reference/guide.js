// The guide and the catalogue of node types: the colours, and the search in the list of node types. Both pages work without it.
import { startTheme } from './theme.js'

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id))
const entries = [...document.querySelectorAll('.node-types > div')].map((row) => ({
  row: /** @type {HTMLElement} */ (row),
  text: (row.textContent ?? '').toLowerCase(),
}))
const search = /** @type {HTMLInputElement} */ (byId('search'))

startTheme(byId('theme'))
if (entries.length > 0) startSearch()

function startSearch() {
  byId('search-box').hidden = false
  search.addEventListener('input', filter)
  addEventListener('keydown', (event) => {
    const typing = event.target instanceof Element && event.target.closest('input, textarea, select')
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    search.focus()
  })
  filter()
}

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean)
  for (const { row, text } of entries) row.hidden = !words.every((word) => text.includes(word))
  for (const section of document.querySelectorAll('.namespace')) {
    const hidden = section.querySelectorAll('.node-types > div:not([hidden])').length === 0
    section.toggleAttribute('hidden', hidden)
  }
  const matching = entries.filter(({ row }) => !row.hidden).length
  byId('matches').textContent = words.length === 0 ? '' : `${matching} of ${entries.length}`
}
