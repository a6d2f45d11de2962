// The golden frames of the published document of sockets, each with the name of its schema.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  createSchemaReference,
  type Json,
  type JsonMap,
  listOf,
  mapOf,
  readSchemaName,
  resolveToMap,
} from '../../src/codegen/documents/json-pointer.ts'
import { PUBLISHED } from './tools.ts'

/** What is read as a type of that name. */
export type Frame = readonly [name: string, value: JsonMap]

const EXAMPLE = /^(\w+)\.\w+\.example\.json$/

function read(file: string): JsonMap {
  return JSON.parse(readFileSync(join(PUBLISHED, file), 'utf8')) as JsonMap
}

/** Those of the schemas that a generator made types of. */
export function goldenFrames(types: ReadonlySet<string>): Frame[] {
  return readdirSync(PUBLISHED).flatMap((file): Frame[] => {
    const name = EXAMPLE.exec(file)?.[1]
    return name !== undefined && types.has(name) ? [[name, read(file)]] : []
  })
}

const document = read('asyncapi.json')

/**
 * Frames as a language without unions reads them: what may be one of several objects is taken out, and read by itself as the one that it is.
 */
export function withoutUnions(frames: readonly Frame[]): Frame[] {
  return frames.flatMap(([name, value]) => {
    const taken: Frame[] = []
    const rest = withoutTaken(createSchemaReference(name), value, name, taken)
    return rest === undefined ? taken : [[name, rest as JsonMap] as const, ...taken]
  })
}

/** A value without what is taken out of it; undefined where that is all of it. */
function withoutTaken(schema: JsonMap, value: Json, name: string, taken: Frame[]): Json | undefined {
  const [own, known] = named(schema, name)
  if (Array.isArray(value))
    return value.flatMap((item) => withoutTaken(mapOf(own.items), item, `${known}Item`, taken) ?? [])
  if (typeof value !== 'object' || value === null) return value
  const all = listOf(own.oneOf ?? own.anyOf).map((one) => named(one, known))
  const variants = all.filter(([{ type }]) => type !== 'null')
  if (variants.length === 1) return withoutTaken(variants[0]![0], value, variants[0]![1], taken)
  const objects = variants.filter(([{ properties }]) => properties !== undefined)
  if (objects.length > 0) {
    const [variant, of] = objects.find(([one]) => isOf(one, value)) ?? []
    if (!variant) throw new Error(`none of the variants of ${known} is ${JSON.stringify(value)}`)
    taken.push([of!, withoutTaken(variant, value, of!, taken) as JsonMap])
    return undefined
  }
  const entries = Object.entries(value).map(([key, member]) => {
    const property = mapOf(own.properties)[key]
    return [key, property === undefined ? member : withoutTaken(mapOf(property), member, known + key, taken)] as const
  })
  return Object.fromEntries(entries.filter(([, member]) => member !== undefined)) as JsonMap
}

/** A schema and what it is called. */
function named(schema: Json, name: string): [schema: JsonMap, name: string] {
  const own = resolveToMap(document, schema)
  const { title } = own
  return [own, readSchemaName(schema) ?? (typeof title === 'string' ? title : name)]
}

/** Whether an object has what a variant requires, and its enumerated values. */
function isOf({ properties, required }: JsonMap, value: JsonMap): boolean {
  const isEnumerated = ([key, property]: [string, Json]) => {
    const values = listOf(resolveToMap(document, property).enum)
    return values.length === 0 || value[key] === undefined || values.includes(value[key]!)
  }
  return listOf(required).every((key) => String(key) in value) && Object.entries(mapOf(properties)).every(isEnumerated)
}
