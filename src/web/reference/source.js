// Reading a document of this server, and finding what its references point to.

/**
 * @param {string} name
 * @returns {Promise<any>}
 */
export async function readDocument(name) {
  const response = await fetch(new URL(name, document.baseURI))
  if (!response.ok) throw new Error(`${name} answered ${response.status}`)
  return response.json()
}

/**
 * @param {unknown} root
 * @returns {(value: any) => any} follows `$ref` until there is none
 */
export function resolver(root) {
  return (value) => {
    let found = value
    // Bounded, because a document may refer in a circle.
    for (let hops = 0; found?.$ref && hops < 32; hops++) found = at(root, found.$ref)
    return found ?? {}
  }
}

/**
 * @param {any} root
 * @param {string} reference
 */
function at(root, reference) {
  return reference
    .slice(2)
    .split('/')
    .reduce((value, key) => value?.[decodeURIComponent(key).replaceAll('~1', '/').replaceAll('~0', '~')], root)
}

/**
 * The last part of a reference, which is the name of what it points to; null where `value` is not a reference.
 * @param {any} value
 * @returns {string | null}
 */
export function referredName(value) {
  return typeof value?.$ref === 'string' ? value.$ref.split('/').at(-1) : null
}
