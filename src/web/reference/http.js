// The OpenAPI document, shown by Swagger UI. What the contract adds to an operation is in operations.js.
import { element } from './dom.js'
import { emptyForms, filesLast, formsPlugin } from './forms.js'
import { markersPlugin, operationsOf } from './operations.js'
import { select } from './selection.js'
import { readDocument, resolver } from './source.js'

/**
 * Shows the document in `host`.
 * @param {HTMLElement} host
 * @returns {Promise<import('./page.js').View>}
 */
export async function mount(host) {
  const [source] = await Promise.all([readDocument('openapi.json'), loadStyle(), loadScript()])
  const operations = operationsOf(source)
  // Requests that are tried out go to where this page came from: nothing else is allowed to them.
  const servers = [{ url: new URL('.', document.baseURI).href.replace(/\/$/, ''), description: 'This server.' }]
  host.replaceChildren()
  const ui = /** @type {any} */ (globalThis).SwaggerUIBundle({
    spec: { ...emptyForms(source, resolver(source)), servers },
    domNode: host.appendChild(element('div')),
    plugins: [markersPlugin(operations), formsPlugin],
    requestInterceptor: filesLast,
    deepLinking: true,
    displayOperationId: true,
    displayRequestDuration: true,
    docExpansion: 'list',
    defaultModelsExpandDepth: -1,
    defaultModelExpandDepth: 2,
    validatorUrl: null,
    queryConfigEnabled: false,
    persistAuthorization: false,
  })
  return {
    version: source.info.version,
    filter(selection) {
      ui.layoutActions.updateFilter(selection)
      return select([...operations.values()], selection)
    },
    follow: (hash) => follow(ui, hash),
  }
}

/** @returns {Promise<unknown>} */
function loadScript() {
  const script = element('script', { src: 'docs/swagger-ui-bundle.js' })
  return inserted(script, (node) => document.head.append(node))
}

// Before our own sheets, which adapt it.
function loadStyle() {
  const link = element('link', { rel: 'stylesheet', href: 'docs/swagger-ui.css' })
  return inserted(link, (node) => document.head.prepend(node))
}

/**
 * @param {HTMLElement} node
 * @param {(node: HTMLElement) => void} insert
 * @returns {Promise<unknown>}
 */
function inserted(node, insert) {
  return new Promise((resolve, reject) => {
    node.addEventListener('load', resolve)
    node.addEventListener('error', () =>
      reject(new Error(`${node.getAttribute('src') ?? node.getAttribute('href')} is missing`)),
    )
    insert(node)
  })
}

/**
 * @param {any} ui
 * @param {string} hash `#/tag` or `#/tag/operationId`
 */
function follow(ui, hash) {
  if (!hash.startsWith('#/')) return
  ui.layoutActions.parseDeepLinkHash(hash)
  const [, tag, id] = hash.split('/')
  const target = document.getElementById(id ? `operations-${tag}-${id}` : `operations-tag-${tag}`)
  target?.scrollIntoView()
}
