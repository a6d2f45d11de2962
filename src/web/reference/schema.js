// Schemas as tables of properties. What lies deeper unfolds on demand.
import { element, unfolding } from './dom.js'
import { limitsOf } from './limits.js'
import { inline } from './markdown.js'
import { referredName } from './source.js'

/** @typedef {(value: any) => any} Resolve */

/**
 * A schema's properties, variants or items; null where its type says everything.
 * @param {any} schema
 * @param {Resolve} resolve
 * @returns {Node | null}
 */
export function schemaBody(schema, resolve) {
  const shape = flatten(schema, resolve)
  const forms = variants(shape, resolve)
  if (forms.length === 1) return schemaBody(forms[0], resolve)
  if (forms.some((form) => hasBody(form, resolve))) return variantList(forms, resolve)
  if (shape.properties && Object.keys(shape.properties).length > 0) return propertyTable(shape, resolve)
  if (shape.items) return schemaBody(shape.items, resolve)
  if (typeof shape.additionalProperties === 'object') return schemaBody(shape.additionalProperties, resolve)
  return null
}

/**
 * A short name of a schema's type, such as `string | null` or `list of Graph`.
 * @param {any} schema
 * @param {Resolve} resolve
 * @returns {string}
 */
export function typeName(schema, resolve) {
  const shape = flatten(schema, resolve)
  const name = referredName(schema) ?? referredName(schema?.allOf?.[0])
  if (name && hasBody(schema, resolve)) return name
  const forms = shape.oneOf ?? shape.anyOf
  if (forms) return [...new Set(forms.map((/** @type {any} */ form) => typeName(form, resolve)))].join(' | ')
  const types = [shape.type ?? guessType(shape)].flat()
  if (types.length > 5) return 'any value'
  return types.map((type) => namedType(type, shape, resolve)).join(' | ')
}

/**
 * @param {string} type
 * @param {any} shape
 * @param {Resolve} resolve
 */
function namedType(type, shape, resolve) {
  if (type === 'array') return `list of ${shape.items ? typeName(shape.items, resolve) : 'any value'}`
  if (type !== 'object') return type
  const { additionalProperties: values } = shape
  return typeof values === 'object' && !shape.properties ? `map of ${typeName(values, resolve)}` : 'object'
}

/** @param {any} shape */
function guessType(shape) {
  const [value] = 'const' in shape ? [shape.const] : (shape.enum ?? [])
  if (value !== undefined) return value === null ? 'null' : typeof value
  return shape.properties ? 'object' : 'any value'
}

/**
 * The schema behind its references, with the parts of an `allOf` put together.
 * @param {any} schema
 * @param {Resolve} resolve
 * @returns {any}
 */
function flatten(schema, resolve) {
  const { allOf, ...own } = resolve(schema)
  if (!allOf) return own
  /** @type {any} */
  let whole = {}
  for (const part of [...allOf.map((/** @type {any} */ entry) => flatten(entry, resolve)), own]) {
    whole = {
      ...whole,
      ...part,
      ...(part.properties ? { properties: { ...whole.properties, ...part.properties } } : {}),
      ...(part.required ? { required: [...(whole.required ?? []), ...part.required] } : {}),
    }
  }
  return whole
}

/**
 * @param {any} shape
 * @param {Resolve} resolve
 * @returns {any[]}
 */
function variants(shape, resolve) {
  return (shape.oneOf ?? shape.anyOf ?? []).filter((/** @type {any} */ form) => resolve(form).type !== 'null')
}

/**
 * @param {any} schema
 * @param {Resolve} resolve
 * @param {number} depth bounds lists of lists that refer to themselves
 * @returns {boolean}
 */
function hasBody(schema, resolve, depth = 0) {
  if (depth > 4) return false
  const shape = flatten(schema, resolve)
  if (Object.keys(shape.properties ?? {}).length > 0) return true
  const inner = [...variants(shape, resolve), shape.items, shape.additionalProperties]
  return inner.some((part) => part && typeof part === 'object' && hasBody(part, resolve, depth + 1))
}

/**
 * @param {any[]} forms
 * @param {Resolve} resolve
 */
function variantList(forms, resolve) {
  const entries = forms.map((form) => {
    const shape = flatten(form, resolve)
    const summary = [element('code', {}, variantName(form, shape, resolve)), ' ', ...inline(shape.description ?? '')]
    const body = () => schemaBody(form, resolve) ?? element('p', {}, typeName(form, resolve))
    return element('li', {}, unfolding(summary, body))
  })
  return element('div', { class: 'variants' }, element('p', {}, 'One of:'), element('ul', {}, ...entries))
}

// Variants of one kind differ in a fixed property: that is what tells them apart.
/**
 * @param {any} form
 * @param {any} shape
 * @param {Resolve} resolve
 */
function variantName(form, shape, resolve) {
  return referredName(form) ?? shape.title ?? fixedProperty(shape, resolve) ?? typeName(form, resolve)
}

/**
 * @param {any} shape
 * @param {Resolve} resolve
 */
function fixedProperty(shape, resolve) {
  for (const [name, property] of Object.entries(shape.properties ?? {})) {
    const { const: value } = resolve(property)
    if (value !== undefined) return `${name}: ${JSON.stringify(value)}`
  }
  return null
}

/**
 * @param {any} shape
 * @param {Resolve} resolve
 */
function propertyTable(shape, resolve) {
  const required = new Set(shape.required)
  const rows = Object.entries(shape.properties).map(([name, schema]) =>
    propertyRow(name, schema, required.has(name), resolve),
  )
  const head = ['Name', 'Type', 'Meaning'].map((title) => element('th', { scope: 'col' }, title))
  return element(
    'div',
    { class: 'scroll' },
    element(
      'table',
      { class: 'properties' },
      element('thead', {}, element('tr', {}, ...head)),
      element('tbody', {}, ...rows),
    ),
  )
}

/**
 * @param {string} name
 * @param {any} schema
 * @param {boolean} required
 * @param {Resolve} resolve
 */
function propertyRow(name, schema, required, resolve) {
  const shape = flatten(schema, resolve)
  const label = element('code', {}, name)
  const limits = limitsOf(shape)
  const meaning = element('td', {}, element('div', {}, ...inline(shape.description ?? '')))
  if (limits.length > 0) {
    meaning.append(element('div', { class: 'facts' }, ...limits.map((fact) => element('span', {}, fact))))
  }
  if (hasBody(schema, resolve)) {
    meaning.append(unfolding(['Properties'], () => schemaBody(schema, resolve) ?? element('p')))
  }
  return element(
    'tr',
    {},
    element('th', { scope: 'row' }, label, required ? element('span', { class: 'required' }, 'required') : null),
    element('td', { class: 'type' }, typeName(schema, resolve)),
    meaning,
  )
}
