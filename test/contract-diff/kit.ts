// Publications that differ from the real one in one place.
import { join } from 'node:path'
import type { Json, JsonMap } from '../../src/contract/json.ts'
import type { ContractPublication } from '../../src/contract/publication-files.ts'
import { readPublication } from '../../src/contract/publication-reader.ts'

export const FOLDER = join(import.meta.dirname, '../../generated/lifecycle-v1')

/** The published one. */
export const real: ContractPublication = readPublication(FOLDER)

/** What a change touches: documents by name, and the names of files. */
export interface Draft {
  readonly openapi: JsonMap
  readonly asyncapi: JsonMap
  readonly errors: JsonMap
  readonly operations: JsonMap
  readonly requirements: JsonMap
  names: string[]
}

export type Change = (draft: Draft) => void

/** A new copy of a published document, with exact schemas. */
function copied(name: string): JsonMap {
  const text = texts.get(name) ?? JSON.stringify(real.json(name))
  texts.set(name, text)
  return JSON.parse(text) as JsonMap
}

const texts = new Map<string, string>()

/** The real publication with a change; what isn't touched is that of the real one. */
export function changed(change: Change): ContractPublication {
  const copies = new Map<string, JsonMap>()
  const draft = { names: [...real.names] } as Draft
  for (const name of ['openapi', 'asyncapi', 'errors', 'operations', 'requirements'] as const) {
    const get = () => {
      const copy = copies.get(`${name}.json`) ?? copied(`${name}.json`)
      copies.set(`${name}.json`, copy)
      return copy
    }
    Object.defineProperty(draft, name, { get })
  }
  change(draft)
  return { ...real, names: draft.names, json: (name) => copies.get(name) ?? real.json(name) }
}

/** A member of a tree by its path, such as `paths//api/x/get` written as a list. Fails where there is none: the test would prove nothing. */
export function at(tree: Json, ...path: readonly (string | number)[]): JsonMap {
  let value: Json | undefined = tree
  for (const key of path) value = (value as JsonMap | undefined)?.[key]
  if (typeof value !== 'object' || value === null) throw new Error(`there is no ${path.join(' ')}`)
  return value as JsonMap
}

export const schema = (document: JsonMap, name: string, ...path: readonly (string | number)[]) =>
  at(document, 'components', 'schemas', name, ...path)
export const operation = (document: JsonMap, path: string, method: string, ...more: readonly (string | number)[]) =>
  at(document, 'paths', path, method, ...more)
export const message = (document: JsonMap, key: string, ...more: readonly (string | number)[]) =>
  at(document, 'channels', 'ws', 'messages', key, ...more)

/** Sets a member, in one expression. */
export function put(tree: Json | object, key: string, value: Json): void {
  Object.assign(tree as object, { [key]: value })
}

/** Changes a schema in both documents that share it. */
export function inSchema(name: string, edit: (schema: JsonMap) => void): Change {
  return ({ openapi, asyncapi }) => {
    const found = [openapi, asyncapi].map((document) => (document.components as JsonMap).schemas as JsonMap)
    const holders = found.filter((schemas) => schemas[name] !== undefined)
    if (holders.length === 0) throw new Error(`there is no schema ${name}`)
    for (const schemas of holders) edit(schemas[name] as JsonMap)
  }
}

/** Takes an item from a list, which has to be there. */
export function without(list: Json | undefined, item: Json): Json[] {
  const all = list as Json[]
  if (!all.includes(item)) throw new Error(`there is no ${String(item)} in the list`)
  return all.filter((one) => one !== item)
}
