// The AsyncAPI document: its channels, their messages by kind, and the list of contents beside them.
import { channelsOf } from './channels.js'
import { badge, element, MARKERS } from './dom.js'
import { markdown } from './markdown.js'
import { anchor, messageCard } from './message.js'
import { schemaBody } from './schema.js'
import { select } from './selection.js'
import { readDocument, resolver } from './source.js'

/** @typedef {import('./channels.js').Channel} Channel */

/**
 * Shows the document in `host`.
 * @param {HTMLElement} host
 * @returns {Promise<import('./page.js').View>}
 */
export async function mount(host) {
  const source = await readDocument('asyncapi.json')
  const resolve = resolver(source)
  const channels = channelsOf(source, resolve)
  const contents = element(
    'details',
    { class: 'contents', open: matchMedia('(min-width: 60rem)').matches },
    element('summary', {}, 'Contents'),
    element('nav', { 'aria-label': 'Messages' }, ...channels.map(channelLinks)),
  )
  const body = element(
    'div',
    { class: 'channels' },
    introduction(source, resolve),
    ...channels.map((channel) => channelSection(channel, resolve)),
    element('p', { class: 'notice nothing', hidden: true }, 'No message matches.'),
  )
  host.replaceChildren(element('div', { class: 'sockets' }, contents, body))
  return { version: source.info.version, filter: filterOf(host, channels), follow: (hash) => follow(host, hash) }
}

/**
 * @param {any} source
 * @param {(value: any) => any} resolve
 */
function introduction({ info, servers = {} }, resolve) {
  const [server] = Object.values(servers)
  const { description } = resolve(server)
  return element(
    'section',
    { class: 'introduction' },
    element('h1', {}, info.title),
    markdown(info.description),
    element('p', {}, 'This server is at ', element('code', {}, socketAddress()), '.'),
    markdown(description),
  )
}

// Where this page came from is a truer address than a declared default.
function socketAddress() {
  const { protocol, host, pathname } = new URL('.', document.baseURI)
  return `${protocol === 'https:' ? 'wss' : 'ws'}://${host}${pathname.replace(/\/$/, '')}`
}

/** @param {Channel} channel */
function channelLinks({ key, address, groups }) {
  return element(
    'section',
    { 'data-channel': key },
    element('h2', {}, element('a', { href: `#sockets-${key}` }, address)),
    ...groups.map(({ title, messages }) =>
      element('div', { 'data-group': true }, element('h3', {}, title), element('ul', {}, ...messages.map(messageLink))),
    ),
  )
}

/** @param {import('./message.js').Message} entry */
function messageLink(entry) {
  const link = `#${anchor(entry)}`
  const marker = entry.message['x-svc-implementation'] ?? ''
  const dot = element('span', { class: `dot dot-${marker}`, title: marker })
  return element('li', { 'data-entry': link }, element('a', { href: link }, dot, entry.key))
}

/**
 * @param {Channel} channel
 * @param {(value: any) => any} resolve
 */
function channelSection({ key, address, channel, groups }, resolve) {
  const marker = channel['x-svc-implementation']
  return element(
    'section',
    { class: 'channel', id: `sockets-${key}`, 'data-channel': key },
    element(
      'header',
      {},
      element('h2', {}, element('code', {}, address), ' ', channel.title ?? ''),
      marker ? badge(marker, MARKERS[marker] ?? '') : null,
    ),
    element('div', { class: 'about' }, markdown(channel.description), ...handshake(channel, resolve)),
    ...groups.map(({ title, description, messages }) =>
      element(
        'section',
        { class: 'group', 'data-group': true },
        element('h3', {}, title),
        description ? markdown(description) : null,
        ...messages.map((entry) => messageCard(entry, resolve)),
      ),
    ),
  )
}

/**
 * @param {any} channel
 * @param {(value: any) => any} resolve
 */
function handshake({ bindings }, resolve) {
  const { query, headers } = resolve(resolve(bindings)?.ws)
  const tables = [
    ['Query of the upgrade', query],
    ['Headers of the upgrade', headers],
  ]
  return tables
    .filter(([, schema]) => schema)
    .flatMap(([title, schema]) => [element('h3', {}, title), schemaBody(schema, resolve) ?? ''])
}

/**
 * @param {HTMLElement} host
 * @param {Channel[]} channels
 */
function filterOf(host, channels) {
  const messages = channels.flatMap(({ groups }) => groups.flatMap((group) => group.messages))
  const entries = messages.map((entry) => ({
    link: `#${anchor(entry)}`,
    implementation: entry.message['x-svc-implementation'],
    text: searchText(entry),
  }))
  return (/** @type {import('./selection.js').Selection} */ selection) => {
    const selected = select(entries, selection)
    const shown = new Set(selected.matching)
    for (const entry of entries) {
      for (const found of host.querySelectorAll(`${entry.link}, [data-entry="${entry.link}"]`)) {
        Object.assign(found, { hidden: !shown.has(entry) })
      }
    }
    hideEmpty(host, selection.phrase !== '')
    const nothing = /** @type {HTMLElement} */ (host.querySelector('.nothing'))
    nothing.hidden = shown.size > 0
    return selected
  }
}

/**
 * @param {HTMLElement} host
 * @param {boolean} searching
 */
function hideEmpty(host, searching) {
  for (const part of host.querySelectorAll('[data-group], [data-channel]')) {
    Object.assign(part, { hidden: !part.querySelector('.card:not([hidden]), [data-entry]:not([hidden])') })
  }
  for (const part of host.querySelectorAll('.about, .introduction')) Object.assign(part, { hidden: searching })
}

/** @param {import('./message.js').Message} entry */
function searchText({ key, message, operation }) {
  const { title, payload, tags = [] } = message
  const names = [key, message.name, title, operation?.summary, operation?.description, payload?.$ref?.split('/').at(-1)]
  const labels = tags.map((/** @type {any} */ tag) => tag.name ?? tag.$ref)
  return [...names, ...labels, message['x-svc-implementation'], message['x-svc-kind']].join(' ').toLowerCase()
}

/**
 * @param {HTMLElement} host
 * @param {string} hash
 */
function follow(host, hash) {
  if (hash === '#sockets' || hash === '') {
    scrollTo({ top: 0 })
    return
  }
  const target = host.querySelector(`#${CSS.escape(hash.slice(1))}`)
  for (const old of host.querySelectorAll('.card.named')) old.classList.remove('named')
  if (target?.classList.contains('card')) target.classList.add('named')
  target?.scrollIntoView()
}
