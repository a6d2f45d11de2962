// The page's frame: which of the two documents is shown, what of it is hidden, and the colours.
// How a document is shown belongs to http.js and sockets.js, which are loaded when they are first needed.
import { readChoice, storeChoice } from './choices.js'
import { element } from './dom.js'
import { startQuickStart } from './quick-start.js'
import { startTheme } from './theme.js'

/**
 * A shown document. `filter` shows the entries that are selected, and returns them; `follow` brings what the address names into view.
 * @typedef {import('./selection.js').Selection} Selection
 * @typedef {import('./selection.js').Selected} Selected
 * @typedef {{ filter(selection: Selection): Selected, follow(hash: string): void, version: string }} View
 */

const PLANNED_KEY = 'reference-planned'

const byId = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id))
const search = /** @type {HTMLInputElement} */ (byId('search'))
const planned = /** @type {HTMLInputElement} */ (byId('planned'))

const tabs = {
  http: { source: 'openapi.json', load: () => import('./http.js') },
  sockets: { source: 'asyncapi.json', load: () => import('./sockets.js') },
}

/** @type {Map<string, Promise<View>>} */
const views = new Map()

// Addresses of sockets begin with their tab's name; all others belong to HTTP, whose links have the form `#/tag/operation`.
function currentTab() {
  return /^#sockets(-|$)/.test(location.hash) ? 'sockets' : 'http'
}

async function show() {
  const name = currentTab()
  for (const other of Object.keys(tabs)) {
    byId(`view-${other}`).hidden = other !== name
    if (other === name) byId(`tab-${other}`).setAttribute('aria-current', 'page')
    else byId(`tab-${other}`).removeAttribute('aria-current')
  }
  const source = /** @type {HTMLAnchorElement} */ (byId('source'))
  source.href = tabs[name].source
  source.textContent = tabs[name].source
  const first = !views.has(name)
  const view = await load(name)
  if (!view || currentTab() !== name) return
  byId('version').textContent = view.version
  filter(view)
  if (!first || name === 'sockets') view.follow(location.hash)
}

/** @param {'http' | 'sockets'} name */
async function load(name) {
  const host = /** @type {HTMLElement} */ (byId(`view-${name}`).querySelector('.document'))
  if (!views.has(name)) {
    host.replaceChildren(element('p', { class: 'notice' }, 'Loading …'))
    views.set(
      name,
      tabs[name].load().then(({ mount }) => mount(host)),
    )
  }
  try {
    return await views.get(name)
  } catch (error) {
    views.delete(name)
    host.replaceChildren(element('p', { class: 'notice' }, `The document cannot be shown: ${error}`))
    return null
  }
}

/** @param {View} view */
function filter(view) {
  const phrase = search.value.trim()
  const { matching, all } = view.filter({ phrase, planned: planned.checked, hash: location.hash })
  byId('matches').textContent = phrase === '' ? '' : `${matching.length} of ${all.length}`
  byId('quick-start').hidden = phrase !== ''
}

search.addEventListener('input', async () => {
  const view = await load(currentTab())
  if (!view) return
  filter(view)
  scrollTo({ top: 0 })
})
planned.checked = readChoice(PLANNED_KEY) === 'shown'
planned.addEventListener('change', async () => {
  storeChoice(PLANNED_KEY, planned.checked ? 'shown' : 'hidden')
  const view = await load(currentTab())
  if (view) filter(view)
})
addEventListener('keydown', (event) => {
  const typing = event.target instanceof Element && event.target.closest('input, textarea, select')
  if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  search.focus()
})
addEventListener('hashchange', show)
startTheme(byId('theme'))
startQuickStart()
await show()
