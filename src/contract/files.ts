// A publication as it lies somewhere: a folder, its index, or an archive; read whole, and held against its own digests.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { readArchive } from './archive.ts'
import { exact } from './exact.ts'
import { isMap, type JsonMap, listOf, textOf } from './json.ts'

const INDEX = 'index.json'
/** Documents whose schemas are read in their exact form. */
const DOCUMENTS = /^(openapi|asyncapi)(\.implemented)?\.json$/
/** Files without which nothing can be compared. */
const NEEDED = ['openapi.json', 'asyncapi.json', 'operations.json', 'errors.json']

export interface Publication {
  readonly contract_version: string
  readonly digest: string
  /** Names of all files, sorted. */
  readonly names: readonly string[]
  /** The parsed content of a JSON file, documents with exact schemas; an empty map where there is none of that name. */
  json(name: string): JsonMap
}

/** Why a publication cannot be read, in one line for people. */
export class PublicationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PublicationError'
  }
}

/** Reads a folder, an archive (`.tgz`) or the index of a folder, held against its digests alone. @throws PublicationError */
export function readFiles(path: string): Publication {
  try {
    return checked(fileReader(path))
  } catch (error) {
    const message = FAULTS[(error as NodeJS.ErrnoException).code ?? ''] ?? (error as Error).message.split('\n')[0]!
    throw new PublicationError(`${path} is no publication of the contract: ${message}`, { cause: error })
  }
}

/** What the system says of a path, in words. */
const FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is a file and no folder',
  EACCES: 'it cannot be read',
  EPERM: 'it cannot be read',
}

type ReadFile = (name: string) => Buffer

function fileReader(path: string): ReadFile {
  const isFolder = statSync(path).isDirectory()
  if (isFolder || path.endsWith('.json')) return inFolder(isFolder ? path : dirname(path), isFolder ? INDEX : path)
  const files = readArchive(readFileSync(path))
  return (name) => {
    const content = files.get(name)
    if (!content) throw new Error(`${name} is missing`)
    return content
  }
}

function inFolder(folder: string, index: string): ReadFile {
  return (name) => {
    const path = name === INDEX && index !== INDEX ? index : join(folder, name)
    if (!existsSync(path)) throw new Error(`${name} is missing`)
    return readFileSync(path)
  }
}

function checked(read: ReadFile): Publication {
  const index = parsed(read, INDEX)
  const files = listOf(index.files).map((file) => (isMap(file) ? file : {}))
  const lines = files.map(({ name, sha256 }) => {
    // Names lead nowhere but into the folder.
    if (!/^[\w.-]+$/.test(textOf(name)) || name === '..') throw new Error(`its index names ${JSON.stringify(name)}`)
    if (digestOf(read(textOf(name))) !== sha256) throw new Error(`${textOf(name)} is not what its index says`)
    return `${textOf(sha256)}  ${textOf(name)}\n`
  })
  if (files.length === 0 || digestOf(Buffer.from(lines.join(''))) !== index.digest)
    throw new Error('its index is not what its digest says')
  const names = files.map(({ name }) => textOf(name)).sort()
  for (const name of NEEDED) if (!names.includes(name)) throw new Error(`${name} is missing`)
  if (textOf(index.contract_version) === '') throw new Error('its index has no contract_version')
  const cache = new Map<string, JsonMap>(NEEDED.map((name) => [name, parsed(read, name)]))
  return {
    contract_version: textOf(index.contract_version),
    digest: textOf(index.digest),
    names,
    json: (name) => cache.get(name) ?? (names.includes(name) ? parsed(read, name) : {}),
  }
}

function parsed(read: ReadFile, name: string): JsonMap {
  const value: unknown = JSON.parse(read(name).toString('utf8'))
  if (!isMap(value)) throw new Error(`${name} is no JSON object`)
  return DOCUMENTS.test(name) ? exact(value) : value
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
