// One message of a socket as a card: what it says, its data, its answers and its examples.
import { badge, element, MARKERS, unfolding } from './dom.js'
import { json } from './json.js'
import { markdown } from './markdown.js'
import { schemaBody, typeName } from './schema.js'
import { referredName } from './source.js'

/**
 * @typedef {object} Message one message of one channel
 * @property {string} channel the channel's key
 * @property {string} key the message's key in its channel
 * @property {any} message
 * @property {any} operation the operation that the message belongs to; null where it has one of its own
 * @property {'receive' | 'send'} action
 * @property {string[]} replies keys of the messages that answer it
 * @property {string[]} answers keys of the commands that it answers
 */

/** @param {{ channel: string, key: string }} message */
export function anchor({ channel, key }) {
  return `sockets-${channel}-${key}`
}

/**
 * @param {Message} entry
 * @param {(value: any) => any} resolve
 */
export function messageCard(entry, resolve) {
  const { message, operation, action } = entry
  const payload = resolve(message.payload)
  const description = operation?.description ?? message.description ?? payload.description
  return element(
    'article',
    { class: 'card', id: anchor(entry), 'aria-labelledby': `${anchor(entry)}-title` },
    heading(entry),
    markdown(description),
    ...(action === 'receive' ? commandParts(entry, payload, resolve) : frameParts(message, resolve)),
    links(entry.channel, 'Answered by', entry.replies),
    links(entry.channel, 'Answers', entry.answers),
    ...examples(message),
    unfolding(['Schema as JSON'], () => json(payload)),
  )
}

/** @param {Message} entry */
function heading(entry) {
  const { message, key, action } = entry
  const id = anchor(entry)
  const marker = message['x-svc-implementation']
  const request = message['x-svc-request-id']
  return element(
    'header',
    {},
    element('h4', { id: `${id}-title` }, element('code', { class: 'key' }, key), ' ', plain(message.title ?? '')),
    element(
      'span',
      { class: 'badges' },
      badge(action === 'receive' ? 'client → server' : 'server → client', 'Who sends it.'),
      marker ? badge(marker, MARKERS[marker] ?? '') : null,
      message['x-svc-preview'] ? badge('preview', 'Served only where a setting of the server switches it on.') : null,
      request ? badge(`request_id ${request}`, 'Whether the command must carry a request_id.') : null,
    ),
    element('a', { class: 'anchor', href: `#${id}`, 'aria-label': `Link to ${key}` }, '#'),
  )
}

/** @param {string} text */
function plain(text) {
  return text.replaceAll('`', '')
}

// Every command has the same envelope, so only its data are shown.
/**
 * @param {Message} entry
 * @param {any} payload
 * @param {(value: any) => any} resolve
 */
function commandParts({ message }, payload, resolve) {
  const { command, data } = payload.properties ?? {}
  if (!command) return frameParts(message, resolve)
  const body = data ? schemaBody(data, resolve) : null
  const result = message['x-svc-result']
  return [
    body ? part('Data', typeName(data, resolve), body) : part('Data', null, element('p', {}, bare(data, resolve))),
    ...(result ? [part('Result', typeName(result, resolve), unfold(result, resolve))] : []),
  ]
}

/**
 * @param {any} data
 * @param {(value: any) => any} resolve
 */
function bare(data, resolve) {
  return !data || resolve(data).additionalProperties === false ? 'None.' : typeName(data, resolve)
}

/**
 * @param {any} message
 * @param {(value: any) => any} resolve
 */
function frameParts({ payload }, resolve) {
  const body = schemaBody(payload, resolve)
  return [part('Payload', referredName(payload), body ?? element('p', {}, typeName(payload, resolve)))]
}

/**
 * @param {any} schema
 * @param {(value: any) => any} resolve
 */
function unfold(schema, resolve) {
  return unfolding(['Properties'], () => schemaBody(schema, resolve) ?? element('p', {}, typeName(schema, resolve)))
}

/**
 * @param {string} title
 * @param {string | null} type
 * @param {Node} body
 */
function part(title, type, body) {
  const name = type ? [' ', element('code', {}, type)] : []
  return element('div', { class: 'part' }, element('h5', {}, title, ...name), body)
}

/**
 * @param {string} channel
 * @param {string} title
 * @param {string[]} keys
 */
function links(channel, title, keys) {
  if (keys.length === 0) return null
  const list = keys.map((key) =>
    element('li', {}, element('a', { href: `#${anchor({ channel, key })}` }, element('code', {}, key))),
  )
  return element('div', { class: 'part' }, element('h5', {}, title), element('ul', { class: 'inline' }, ...list))
}

/** @param {any} message */
function examples({ examples: list = [] }) {
  return list.map((/** @type {any} */ { name, summary, payload }) =>
    unfolding(['Example', ...(name ? [' ', element('code', {}, name)] : []), summary ? ` ${summary}` : ''], () =>
      json(payload),
    ),
  )
}
