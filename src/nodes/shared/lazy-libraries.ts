// Libraries and large modules of Node that few workflows need. Each is loaded when a node first uses it, because loading all takes longer
// than the rest of a start. Loading is synchronous, so that synchronous nodes stay so.
import { createRequire } from 'node:module'
import { loadWithPropertyWeakMap } from './weak-map-replacement.ts'

const require = createRequire(import.meta.url)

/** Makes a value on the first call, and keeps it. */
export function createLazyGetter<Value extends object>(make: () => Value): () => Value {
  let made: Value | undefined
  return () => {
    made ??= make()
    return made
  }
}

type MarkdownIt = typeof import('markdown-it', { with: { 'resolution-mode': 'require' }})

export const cryptoLibrary = createLazyGetter((): typeof import('node:crypto') => require('node:crypto'))
export const diffLibrary = createLazyGetter((): typeof import('diff') => require('diff'))
export const htmlLibrary = createLazyGetter((): typeof import('htmlparser2') => require('htmlparser2'))
export const httpLibrary = createLazyGetter((): typeof import('node:http') => require('node:http'))
export const markdownLibrary = createLazyGetter((): MarkdownIt => require('markdown-it'))
export const regexLibrary = createLazyGetter((): typeof import('re2js') => require('re2js'))
export const similarityLibrary = createLazyGetter((): typeof import('fastest-levenshtein') =>
  require('fastest-levenshtein'),
)
export const temporalLibrary = createLazyGetter(() =>
  loadWithPropertyWeakMap((): typeof import('temporal-polyfill') => require('temporal-polyfill')),
)
export const zlibLibrary = createLazyGetter((): typeof import('node:zlib') => require('node:zlib'))
