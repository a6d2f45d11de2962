// Reads a publication from a folder, its index or an archive, and verifies its digests.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { restoreExactSchemas } from './exact-schemas.ts'
import { isMap, type JsonMap, listOf, textOf } from './json.ts'
import { readTarGzip } from './tar-archive.ts'

const INDEX_FILE = 'index.json'
/** Documents whose exact schemas are restored. */
const DOCUMENT_FILE_NAME = /^(openapi|asyncapi)(\.implemented)?\.json$/
/** Files that a comparison needs. */
const REQUIRED_FILES = ['openapi.json', 'asyncapi.json', 'operations.json', 'errors.json']

export interface ContractPublication {
  readonly contract_version: string
  readonly digest: string
  /** Names of all files, sorted. */
  readonly names: readonly string[]
  /** The parsed content of a JSON file; documents have their exact schemas. An empty map where no file has that name. */
  json(name: string): JsonMap
}

/** A publication cannot be read. The message is one line. */
export class PublicationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'PublicationError'
  }
}

/** Reads a folder, an archive (`.tgz`) or the index of a folder, and verifies only its digests. @throws PublicationError */
export function readPublicationFiles(path: string): ContractPublication {
  try {
    return readVerified(createFileReader(path))
  } catch (error) {
    const message =
      FAULT_MESSAGES[(error as NodeJS.ErrnoException).code ?? ''] ?? (error as Error).message.split('\n')[0]!
    throw new PublicationError(`${path} is not a publication of the contract: ${message}`, { cause: error })
  }
}

/** Messages for error codes of the system. */
const FAULT_MESSAGES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'a part of the path is a file, not a folder',
  EACCES: 'it cannot be read',
  EPERM: 'it cannot be read',
}

type NamedFileReader = (name: string) => Buffer

function createFileReader(path: string): NamedFileReader {
  const isFolder = statSync(path).isDirectory()
  if (isFolder || path.endsWith('.json'))
    return createFolderReader(isFolder ? path : dirname(path), isFolder ? INDEX_FILE : path)
  const files = readTarGzip(readFileSync(path))
  return (name) => {
    const content = files.get(name)
    if (!content) throw new Error(`${name} is missing`)
    return content
  }
}

function createFolderReader(folder: string, index: string): NamedFileReader {
  return (name) => {
    const path = name === INDEX_FILE && index !== INDEX_FILE ? index : join(folder, name)
    if (!existsSync(path)) throw new Error(`${name} is missing`)
    return readFileSync(path)
  }
}

function readVerified(read: NamedFileReader): ContractPublication {
  const index = readJsonFile(read, INDEX_FILE)
  const files = listOf(index.files).map((file) => (isMap(file) ? file : {}))
  const lines = files.map(({ name, sha256 }) => {
    // A name must not lead out of the folder.
    if (!/^[\w.-]+$/.test(textOf(name)) || name === '..')
      throw new Error(`its index has the invalid file name ${JSON.stringify(name)}`)
    if (sha256Hex(read(textOf(name))) !== sha256)
      throw new Error(`${textOf(name)} does not match the digest in its index`)
    return `${textOf(sha256)}  ${textOf(name)}\n`
  })
  if (files.length === 0 || sha256Hex(Buffer.from(lines.join(''))) !== index.digest)
    throw new Error('its index does not match its digest')
  const names = files.map(({ name }) => textOf(name)).sort()
  for (const name of REQUIRED_FILES) if (!names.includes(name)) throw new Error(`${name} is missing`)
  if (textOf(index.contract_version) === '') throw new Error('its index has no contract_version')
  const cache = new Map<string, JsonMap>(REQUIRED_FILES.map((name) => [name, readJsonFile(read, name)]))
  return {
    contract_version: textOf(index.contract_version),
    digest: textOf(index.digest),
    names,
    json: (name) => cache.get(name) ?? (names.includes(name) ? readJsonFile(read, name) : {}),
  }
}

function readJsonFile(read: NamedFileReader, name: string): JsonMap {
  const value: unknown = JSON.parse(read(name).toString('utf8'))
  if (!isMap(value)) throw new Error(`${name} is not a JSON object`)
  return DOCUMENT_FILE_NAME.test(name) ? restoreExactSchemas(value) : value
}

function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
