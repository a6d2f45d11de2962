// Makes one document of a root and the files that it refers to. Schemas become components; everything else is written in place.
// Within AsyncAPI operations, references into a channel's file become references to that channel in the document.
import { posix } from 'node:path'
import type { ContractProblem } from './problems.ts'
import type { Source } from './source.ts'
import {
  child,
  isMap,
  type Json,
  type JsonMap,
  lookUp,
  mapOf,
  referenceOf,
  schemaReference,
  segments,
  sorted,
} from './tree.ts'

export interface Bundle {
  document: JsonMap
  /** Names of the schemas that the document reaches. */
  schemas: ReadonlySet<string>
}

/** Bundles one document. A reference that cannot be followed is a problem, and what it stands for is left out. */
export function bundleDocument(source: Source, root: string, problems: ContractProblem[]): Bundle {
  const value = source.files.get(root)
  if (!value) {
    problems.push({ file: root, pointer: '', message: 'does not exist or cannot be read' })
    return { document: {}, schemas: new Set() }
  }
  const channels = channelFiles(value)
  const run = { source, root, channels, problems, reached: new Set<string>() }
  const document = mapOf(rewrite(run, value, { file: root, pointer: '', at: '', names: false, through: [] }))
  document.components = { ...mapOf(document.components), schemas: reachedSchemas(run) }
  dropUnused(document)
  checkLocalReferences(run, document, document, '')
  return { document, schemas: run.reached }
}

/** Keys whose members are names chosen by the author, not keywords. */
const NAME_MAPS = new Set([
  ...['paths', 'parameters', 'headers', 'responses', 'requestBodies', 'content', 'callbacks'],
  ...['channels', 'operations', 'messages', 'schemas', 'properties'],
])
/** Keys whose value is data, in which `$ref` would mean nothing. */
const LITERALS = new Set(['example', 'examples', 'default', 'const', 'enum'])

interface Place {
  file: string
  /** Where in the file. */
  pointer: string
  /** Where in the document. */
  at: string
  /** Whether the keys of this map are names. */
  names: boolean
  /** References that are being followed, to notice a circle. */
  through: readonly string[]
}

/** One bundling. */
interface Run {
  readonly source: Source
  readonly root: string
  /** The channels of the root by their files. */
  readonly channels: ReadonlyMap<string, string>
  readonly problems: ContractProblem[]
  /** The schemas met so far. */
  readonly reached: Set<string>
}

function channelFiles(root: JsonMap): Map<string, string> {
  const files = Object.entries(mapOf(root.channels)).map(([name, channel]) => {
    return [(referenceOf(channel) ?? '').split('#')[0]!, name] as const
  })
  return new Map(files)
}

/** The schemas that were met, and those that they refer to: the set grows while it is walked. */
function reachedSchemas(run: Run): JsonMap {
  const schemas: JsonMap = {}
  for (const name of run.reached) {
    const { file, schema } = run.source.schemas.get(name)!
    const place = { file, pointer: child('', name), at: child('/components/schemas', name), names: false, through: [] }
    schemas[name] = rewrite(run, schema, place) ?? {}
  }
  return sorted(schemas)
}

function rewrite(run: Run, value: Json, place: Place): Json | undefined {
  if (Array.isArray(value)) {
    return value
      .map((item, index) => rewrite(run, item, inside(place, index, false)))
      .filter((item) => item !== undefined)
  }
  if (!isMap(value)) return value
  if (typeof value.$ref === 'string') return follow(run, value, value.$ref, place)
  const result: JsonMap = {}
  for (const [key, member] of Object.entries(value)) {
    if (!place.names && LITERALS.has(key)) {
      result[key] = structuredClone(member)
      continue
    }
    const rewritten = rewrite(run, member, inside(place, key, !place.names && NAME_MAPS.has(key)))
    if (rewritten !== undefined) result[key] = rewritten
  }
  return result
}

function follow(run: Run, node: JsonMap, reference: string, place: Place): Json | undefined {
  const others = Object.keys(node).filter((key) => key !== '$ref')
  if (others.length > 0) report(run, place, `has ${others.join(', ')} beside a $ref`)
  const [target = '', pointer = ''] = reference.split('#')
  const file = target === '' ? place.file : posix.normalize(posix.join(posix.dirname(place.file), target))
  if (file.startsWith('schemas/')) return reach(run, file, pointer, place)
  if (file === run.root) return { $ref: `#${pointer}` }
  const channel = channelPart(run, file, pointer, place)
  if (channel !== null) return { $ref: `#${channel}` }
  return inline(run, file, pointer, reference, place)
}

function reach(run: Run, file: string, pointer: string, place: Place): Json | undefined {
  const [name = '', ...deeper] = segments(pointer)
  if (deeper.length > 0 || run.source.schemas.get(name)?.file !== file) {
    report(run, place, `refers to ${file}#${pointer}, which is no schema`)
    return undefined
  }
  run.reached.add(name)
  return schemaReference(name)
}

/** Where a part of a channel's file stands in the document, for references that must stay references. */
function channelPart(run: Run, file: string, pointer: string, { at }: Place): string | null {
  const channel = run.channels.get(file)
  if (!channel || !/^\/operations\/[^/]+\//.test(at)) return null
  const [part, ...rest] = segments(pointer)
  if (part === 'channel') return rest.reduce(child, child('/channels', channel))
  if (part === 'messages') return rest.reduce(child, `${child('/channels', channel)}/messages`)
  return null
}

function inline(run: Run, file: string, pointer: string, reference: string, place: Place): Json | undefined {
  const target = lookUp(run.source.files.get(file), pointer)
  const id = `${file}#${pointer}`
  if (target === undefined) report(run, place, `refers to ${reference}, which does not exist`)
  else if (place.through.includes(id)) report(run, place, `refers to ${reference} in a circle`)
  else return rewrite(run, target, { ...place, file, pointer, names: false, through: [...place.through, id] })
  return undefined
}

function checkLocalReferences(run: Run, document: JsonMap, value: Json, at: string): void {
  if (Array.isArray(value)) {
    value.forEach((item, index) => {
      checkLocalReferences(run, document, item, child(at, index))
    })
  } else if (isMap(value)) {
    const { $ref } = value
    if (typeof $ref === 'string' && lookUp(document, $ref.slice(1)) === undefined)
      run.problems.push({ file: run.root, pointer: at, message: `refers to ${$ref}, which does not exist` })
    for (const [key, member] of Object.entries(value)) {
      if (!LITERALS.has(key)) checkLocalReferences(run, document, member, child(at, key))
    }
  }
}

function report(run: Run, { file, pointer }: Place, message: string): void {
  run.problems.push({ file, pointer, message })
}

/** The root offers each door every error reply; a document holds those that it uses. */
function dropUnused(document: JsonMap): void {
  // Replies first: headers may be used by them alone.
  for (const kind of ['responses', 'parameters', 'headers', 'tags']) {
    const named = mapOf(mapOf(document.components)[kind])
    const used = references(document, new Set())
    for (const name of Object.keys(named)) if (!used.has(`#/components/${kind}/${name}`)) delete named[name]
  }
}

function references(value: Json, found: Set<string>): Set<string> {
  if (isMap(value) && typeof value.$ref === 'string') found.add(value.$ref)
  else if (typeof value === 'object' && value !== null)
    for (const member of Object.values(value)) references(member, found)
  return found
}

function inside(place: Place, key: string | number, names: boolean): Place {
  return { ...place, pointer: child(place.pointer, key), at: child(place.at, key), names }
}
