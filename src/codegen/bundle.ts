// Makes one document of a root and the files that it refers to. Schemas become components; everything else is written in place.
// Within AsyncAPI operations, references into a channel's file become references to that channel in the document.
import { posix } from 'node:path'
import type { ContractProblem } from './problems.ts'
import type { Source } from './source.ts'
import { child, isMap, type Json, type JsonMap, lookUp, mapOf, schemaReference, segments, sorted } from './tree.ts'

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
  return new Bundler(source, root, value, problems).bundle()
}

/** Keys whose members are names chosen by the author, not keywords. */
const NAME_MAPS = new Set(
  'properties schemas paths parameters headers responses requestBodies channels operations messages content callbacks patternProperties'.split(
    ' ',
  ),
)
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

class Bundler {
  readonly #source: Source
  readonly #root: string
  readonly #value: JsonMap
  readonly #problems: ContractProblem[]
  readonly #reached = new Set<string>()
  readonly #channels = new Map<string, string>()

  constructor(source: Source, root: string, value: JsonMap, problems: ContractProblem[]) {
    this.#source = source
    this.#root = root
    this.#value = value
    this.#problems = problems
    for (const [name, channel] of Object.entries(mapOf(value.channels))) {
      const target = mapOf(channel).$ref
      if (typeof target === 'string') this.#channels.set(target.split('#')[0]!, name)
    }
  }

  bundle(): Bundle {
    const start = { file: this.#root, pointer: '', at: '', names: false, through: [] }
    const document = mapOf(this.#rewrite(this.#value, start))
    const schemas: JsonMap = {}
    for (const name of this.#reached) {
      const { file, schema } = this.#source.schemas.get(name)!
      const at = child('/components/schemas', name)
      schemas[name] = this.#rewrite(schema, { file, pointer: child('', name), at, names: false, through: [] }) ?? {}
    }
    document.components = { ...mapOf(document.components), schemas: sorted(schemas) }
    dropUnused(document)
    this.#checkLocalReferences(document, document, '')
    return { document, schemas: this.#reached }
  }

  #rewrite(value: Json, place: Place): Json | undefined {
    if (Array.isArray(value)) {
      return value
        .map((item, index) => this.#rewrite(item, inside(place, index, false)))
        .filter((item) => item !== undefined)
    }
    if (!isMap(value)) return value
    if (typeof value.$ref === 'string') return this.#follow(value, value.$ref, place)
    const result: JsonMap = {}
    for (const [key, member] of Object.entries(value)) {
      if (!place.names && LITERALS.has(key)) {
        result[key] = structuredClone(member)
        continue
      }
      const rewritten = this.#rewrite(member, inside(place, key, !place.names && NAME_MAPS.has(key)))
      if (rewritten !== undefined) result[key] = rewritten
    }
    return result
  }

  #follow(node: JsonMap, reference: string, place: Place): Json | undefined {
    const others = Object.keys(node).filter((key) => key !== '$ref')
    if (others.length > 0) this.#problem(place, `has ${others.join(', ')} beside a $ref`)
    const [target = '', pointer = ''] = reference.split('#')
    const file = target === '' ? place.file : posix.normalize(posix.join(posix.dirname(place.file), target))
    if (file.startsWith('schemas/')) return this.#schema(file, pointer, place)
    if (file === this.#root) return { $ref: `#${pointer}` }
    const mounted = this.#mounted(file, pointer, place)
    if (mounted) return { $ref: `#${mounted}` }
    return this.#inline(file, pointer, reference, place)
  }

  #schema(file: string, pointer: string, place: Place): Json | undefined {
    const [name = '', ...deeper] = segments(pointer)
    if (deeper.length > 0 || this.#source.schemas.get(name)?.file !== file) {
      this.#problem(place, `refers to ${file}#${pointer}, which is no schema`)
      return undefined
    }
    this.#reached.add(name)
    return schemaReference(name)
  }

  /** Where a part of a channel's file stands in the document, for references that must stay references. */
  #mounted(file: string, pointer: string, { at }: Place): string | null {
    const channel = this.#channels.get(file)
    if (!channel || !/^\/operations\/[^/]+\//.test(at)) return null
    const [part, ...rest] = segments(pointer)
    if (part === 'channel') return rest.reduce(child, child('/channels', channel))
    if (part === 'messages') return rest.reduce(child, `${child('/channels', channel)}/messages`)
    return null
  }

  #inline(file: string, pointer: string, reference: string, place: Place): Json | undefined {
    const target = lookUp(this.#source.files.get(file), pointer)
    const id = `${file}#${pointer}`
    if (target === undefined) this.#problem(place, `refers to ${reference}, which does not exist`)
    else if (place.through.includes(id)) this.#problem(place, `refers to ${reference} in a circle`)
    else return this.#rewrite(target, { ...place, file, pointer, names: false, through: [...place.through, id] })
    return undefined
  }

  #checkLocalReferences(document: JsonMap, value: Json, at: string): void {
    if (Array.isArray(value)) {
      value.forEach((item, index) => {
        this.#checkLocalReferences(document, item, child(at, index))
      })
    } else if (isMap(value)) {
      const { $ref } = value
      if (typeof $ref === 'string' && lookUp(document, $ref.slice(1)) === undefined)
        this.#problems.push({ file: this.#root, pointer: at, message: `refers to ${$ref}, which does not exist` })
      for (const [key, member] of Object.entries(value)) {
        if (!LITERALS.has(key)) this.#checkLocalReferences(document, member, child(at, key))
      }
    }
  }

  #problem({ file, pointer }: Place, message: string): void {
    this.#problems.push({ file, pointer, message })
  }
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
