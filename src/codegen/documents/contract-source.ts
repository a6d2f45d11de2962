// Reads the contract's folder: every YAML file, every example, and a hash of all of them.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { ContractProblem } from './contract-problems.ts'
import { appendToPointer, isMap, type Json, type JsonMap } from './json-pointer.ts'

export interface ContractSource {
  /** Parsed YAML by path within the folder. */
  files: ReadonlyMap<string, JsonMap>
  /** Instances by schema name and file name. */
  examples: ReadonlyMap<string, ReadonlyMap<string, Json>>
  /** The schemas of `schemas/` by name, each with its file. */
  schemas: ReadonlyMap<string, { file: string; schema: Json }>
  /** The SHA-256 of the paths and contents of all files. */
  hash: string
}

/** Reads the folder. A file that cannot be read, or a name that is defined twice, becomes a problem. */
export function readContractSource(folder: string, problems: ContractProblem[]): ContractSource {
  const files = new Map<string, JsonMap>()
  const examples = new Map<string, Map<string, Json>>()
  const hash = createHash('sha256')
  for (const path of listContractPaths(folder)) {
    const text = readFileSync(join(folder, path), 'utf8').replaceAll('\r\n', '\n')
    hash.update(`${path}\0${text}\0`)
    const value = parseFile(path, text, problems)
    if (value === undefined) continue
    const example = path.match(/^examples\/([^/]+)\/([^/]+)\.json$/)
    if (example) addExample(examples, example[1]!, example[2]!, value)
    else if (isMap(value)) files.set(path, value)
    else problems.push({ file: path, pointer: '', message: 'is not a map' })
  }
  return { files, examples, schemas: indexSchemas(files, problems), hash: hash.digest('hex') }
}

function listContractPaths(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.yaml') || /^examples\/.*\.json$/.test(path))
    .sort()
}

function parseFile(file: string, text: string, problems: ContractProblem[]): Json | undefined {
  try {
    return (file.endsWith('.json') ? JSON.parse(text) : parse(text, { maxAliasCount: -1 })) as Json
  } catch (error) {
    problems.push({ file, pointer: '', message: String((error as Error).message).split('\n')[0]! })
    return undefined
  }
}

function addExample(examples: Map<string, Map<string, Json>>, schema: string, name: string, value: Json): void {
  const instances = examples.get(schema) ?? new Map<string, Json>()
  examples.set(schema, instances.set(name, value))
}

function indexSchemas(files: ReadonlyMap<string, JsonMap>, problems: ContractProblem[]) {
  const schemas = new Map<string, { file: string; schema: Json }>()
  for (const [file, value] of files) {
    if (!file.startsWith('schemas/')) continue
    for (const [name, schema] of Object.entries(value)) {
      const other = schemas.get(name)
      if (other) problems.push({ file, pointer: appendToPointer('', name), message: `is defined in ${other.file} too` })
      else if (!/^[A-Z][A-Za-z0-9]*$/.test(name))
        problems.push({ file, pointer: appendToPointer('', name), message: 'is not PascalCase' })
      else schemas.set(name, { file, schema })
    }
  }
  return schemas
}
