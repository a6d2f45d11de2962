// Checks that the parts of a publication agree. The diff reads only the documents, but generators may read a schema file or the manifest.
// Types and examples are not checked.

import { deriveManifest, type ManifestList, recordKey } from './derived-manifest.ts'
import { type DocumentPart, listHttpParts, listSocketParts } from './document-parts.ts'
import {
  canonicalJson,
  isMap,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readReference,
  resolveReference,
  textOf,
} from './json.ts'
import type { ContractPublication } from './publication-files.ts'

/** Returns the contradictions, one line each. */
export function findContradictions(publication: ContractPublication): string[] {
  return [
    ...findVersionContradictions(publication),
    ...findSchemaFileContradictions(publication),
    ...findManifestContradictions(publication),
    ...findImplementedContradictions(publication, 'openapi', listHttpParts),
    ...findImplementedContradictions(publication, 'asyncapi', listSocketParts),
  ]
}

function findVersionContradictions({ contract_version, names, json }: ContractPublication): string[] {
  const documents = ['openapi', 'openapi.implemented', 'asyncapi', 'asyncapi.implemented'].map((name) => `${name}.json`)
  const said: [string, Json | undefined][] = [
    ...documents.map((name): [string, Json | undefined] => [name, mapOf(json(name).info).version]),
    ['operations.json', json('operations.json').contract_version],
    ['package.json', json('package.json').version],
  ]
  return said
    .filter(([name, version]) => names.includes(name) && version !== contract_version)
    .map(([name, version]) => `${name} has the version ${JSON.stringify(version)}, its index ${contract_version}`)
}

const SCHEMA_FILE_NAME = /^([A-Z][A-Za-z0-9]*)\.json$/

/** Each schema file has to match the schema of that name in each document, and at least one document has it. */
function findSchemaFileContradictions({ names, json }: ContractPublication): string[] {
  const documents = ['openapi.json', 'asyncapi.json'] as const
  const schemas = documents.map((name) => mapOf(mapOf(json(name).components).schemas))
  return names.flatMap((file) => {
    const name = SCHEMA_FILE_NAME.exec(file)?.[1]
    if (name === undefined) return []
    const text = canonicalJson(toComparableSchema(toDocumentReferences(json(file))))
    const holders = documents.filter((_document, at) => schemas[at]![name] !== undefined)
    if (holders.length === 0) return [`${file} is a schema that no document has`]
    return [
      ...(textOf(json(file).$id).endsWith(`/${file}`) ? [] : [`${file} has the wrong $id`]),
      ...findMissingFiles(json(file), names).map((other) => `${file} refers to ${other}, which is missing`),
      ...holders
        .filter((document) => text !== canonicalJson(toComparableSchema(schemas[documents.indexOf(document)]![name])))
        .map((document) => `${file} is not the schema ${name} of ${document}`),
    ]
  })
}

/** Removes the members that only a file or only a document has. */
function toComparableSchema(schema: Json | undefined): JsonMap {
  const { $schema: _schema, $id: _id, title: _title, ...rest } = mapOf(schema)
  return rest
}

const LITERAL_KEYWORDS = new Set(['examples', 'default', 'const', 'enum'])

/** Rewrites a schema file's references as a document writes them. */
function toDocumentReferences(value: Json, isNames = false): Json {
  if (Array.isArray(value)) return value.map((item) => toDocumentReferences(item))
  if (!isMap(value)) return value
  const file = isNames ? null : SCHEMA_FILE_NAME.exec(readReference(value) ?? '')
  if (file) return { $ref: `#/components/schemas/${file[1]}` }
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      !isNames && LITERAL_KEYWORDS.has(key) ? member : toDocumentReferences(member, !isNames && key === 'properties'),
    ]),
  )
}

/** Returns missing files that a schema file refers to. */
function findMissingFiles(value: Json, names: readonly string[]): string[] {
  if (typeof value !== 'object' || value === null) return []
  const reference = readReference(value)
  if (reference !== null && SCHEMA_FILE_NAME.test(reference)) return names.includes(reference) ? [] : [reference]
  return Object.values(value).flatMap((member) => findMissingFiles(member, names))
}

/** The manifest has to match the documents for each operation, command, frame and event. It may hold further members. */
function findManifestContradictions({ json }: ContractPublication): string[] {
  const derived = deriveManifest(json('openapi.json'), json('asyncapi.json'))
  return (Object.keys(derived) as ManifestList[]).flatMap((list) => {
    const written = new Map(
      listOf(json('operations.json')[list]).map((one) => [recordKey(list, mapOf(one)), mapOf(one)]),
    )
    const wrong = [...derived[list]].filter(([key, record]) => {
      const found = written.get(key)
      return (
        !found ||
        Object.entries(record).some(([member, value]) => canonicalJson(value) !== canonicalJson(found[member]))
      )
    })
    const extra = [...written].filter(([key]) => !derived[list].has(key))
    return [...wrong, ...extra].map(
      ([key]) => `the ${list} of operations.json differ from those of its documents, at ${key}`,
    )
  })
}

/** The implemented document is the full one without its planned parts. An envelope keeps some of its variants, or none. */
function findImplementedContradictions(
  { names, json }: ContractPublication,
  name: string,
  piecesOf: (document: JsonMap) => Map<string, DocumentPart>,
): string[] {
  const file = `${name}.implemented.json`
  if (!names.includes(file)) return []
  const [full, part] = [json(`${name}.json`), json(file)]
  const [all, some] = [piecesOf(full), piecesOf(part)]
  const wrong = [...all].filter(([key, { text, status }]) => {
    const there = some.get(key)
    return there === undefined ? status === 'implemented' : status === 'planned' || there.text !== text
  })
  const extra = [...some].filter(([key, { status }]) => status === 'planned' || !all.has(key))
  const places = [...wrong, ...extra].map(([key]) => key)
  return [...places, ...findComponentContradictions(full, part)].map(
    (at) => `${file} differs from the implemented parts of ${name}.json, at ${at}`,
  )
}

/** Returns components that differ from the full document, and dangling references. */
function findComponentContradictions(full: JsonMap, part: JsonMap): string[] {
  const [all, some] = [mapOf(full.components), mapOf(part.components)]
  const wrong = Object.entries(some).flatMap(([kind, members]) =>
    Object.entries(mapOf(members))
      .filter(([name, member]) => !isPartOf(mapOf(member), mapOf(mapOf(all[kind])[name])))
      .map(([name]) => `components ${kind} ${name}`),
  )
  return [...wrong, ...findDanglingReferences(part, part)]
}

function isPartOf(part: JsonMap, full: JsonMap): boolean {
  const { oneOf: some, ...rest } = part
  const { oneOf: all, ...others } = full
  const variants = new Set(listOf(all).map(canonicalJson))
  return (
    canonicalJson(rest) === canonicalJson(others) &&
    listOf(some).every((variant) => variants.has(canonicalJson(variant)))
  )
}

function findDanglingReferences(document: JsonMap, value: Json): string[] {
  if (typeof value !== 'object' || value === null) return []
  if (readReference(value) !== null && resolveReference(document, value) === undefined) return [readReference(value)!]
  return Object.values(value).flatMap((member) => findDanglingReferences(document, member))
}
