// What the contract says of each operation beyond OpenAPI, as labels and a filter for Swagger UI.
import { MARKERS } from './dom.js'
import { select } from './selection.js'

// Most operations need a caller that the server knows: only the others are labelled.
/** @type {Record<string, string>} */
const ACCESS = {
  public: 'Anybody may call it.',
  administrator: 'Needs an administrator.',
}

/**
 * @typedef {import('./selection.js').Entry & { access: string }} Operation
 * @typedef {Map<string, Operation>} Operations by method and path
 */

/** @param {string} method @param {string} path */
function keyOf(method, path) {
  return `${method.toLowerCase()} ${path}`
}

/**
 * @param {any} source
 * @returns {Operations}
 */
export function operationsOf({ paths }) {
  const operations = new Map()
  for (const [path, item] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(item)) {
      if (!operation.responses) continue
      const { operationId, summary, tags = [] } = operation
      const implementation = operation['x-svc-implementation'] ?? ''
      const access = operation['x-svc-access'] ?? 'principal'
      const text = [method, path, operationId, summary, ...tags, implementation, access].join(' ').toLowerCase()
      operations.set(keyOf(method, path), { link: `#/${tags[0]}/${operationId}`, implementation, access, text })
    }
  }
  return operations
}

/**
 * A plugin of Swagger UI: labels in the summary of each operation, no trying out of what is not served, and a selection
 * in place of its own filter.
 * @param {Operations} operations
 */
export function markersPlugin(operations) {
  const served = (/** @type {unknown} */ _state, /** @type {string} */ path, /** @type {string} */ method) =>
    operations.get(keyOf(method, path))?.implementation !== 'planned'
  return (/** @type {any} */ { React }) => ({
    wrapComponents: { OperationSummaryPath: withLabels(React, operations), FilterContainer: () => () => null },
    statePlugins: {
      // Its own scrolling knows nothing of the bar on top.
      layout: { wrapActions: { scrollToElement: () => (/** @type {Element} */ target) => target.scrollIntoView() } },
      spec: { wrapSelectors: { allowTryItOutFor: () => served } },
    },
    fn: {
      opsFilter: (/** @type {any} */ tags, /** @type {import('./selection.js').Selection} */ selection) =>
        filterTags(tags, new Set(select([...operations.values()], selection).matching), operations),
    },
  })
}

/**
 * @param {any} React
 * @param {Operations} operations
 */
function withLabels({ createElement, Fragment }, operations) {
  return (/** @type {any} */ Original) => (/** @type {any} */ props) => {
    const { operationProps } = props
    const operation = operations.get(keyOf(operationProps.get('method'), operationProps.get('path')))
    const labels = labelsOf(operation).map(([word, title]) =>
      createElement('span', { key: word, className: `badge badge-${word}`, title }, word),
    )
    return createElement(
      Fragment,
      null,
      createElement(Original, props),
      createElement('span', { className: 'badges' }, ...labels),
    )
  }
}

/**
 * @param {Operation | undefined} operation
 * @returns {[word: string, title: string][]}
 */
function labelsOf(operation) {
  if (!operation) return []
  const { implementation, access } = operation
  const title = ACCESS[access]
  return [
    [implementation, MARKERS[implementation] ?? ''],
    ...(title ? [/** @type {[string, string]} */ ([access, title])] : []),
  ]
}

/**
 * @param {any} tags Immutable: tag → {operations: list of {method, path}}
 * @param {Set<Operation>} shown
 * @param {Operations} operations
 */
function filterTags(tags, shown, operations) {
  const isShown = (/** @type {any} */ entry) =>
    shown.has(/** @type {Operation} */ (operations.get(keyOf(entry.get('method'), entry.get('path')))))
  return tags
    .map((/** @type {any} */ tag) => tag.set('operations', tag.get('operations').filter(isShown)))
    .filter((/** @type {any} */ tag) => tag.get('operations').size > 0)
}
