// Reads the bundled packages of files from the installation of the service. An index lists them, and only files in the index are ever
// opened.
import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { AssetPackage } from '../../generated/types.ts'
import { sha256 } from '../shared/hashes.ts'
import { isObjectKey } from './storage-keys.ts'
import type { ByteRange } from './stores/object-store.ts'

const PACKAGES_FOLDER = new URL('../packages/', import.meta.url)
/** The URL path of the files: the name of the package and the path in it follow. */
export const PACKAGES_PATH = '/api/assets/packages/'
/** Bytes of one read. */
const CHUNK_BYTES = 128 * 1024
/** Characters of the digest that a file's URL includes. */
const VERSION_CHARACTERS = 16

/** A file of a package. Every caller may read it, and it changes only with the version of the service. */
export interface PackageFile {
  readonly name: string
  readonly content_type: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
  /** The part of the digest in its URL. */
  readonly v: string
  readonly created_at: null
  readonly expires_at: null
  /** Returns a range of the file. The caller ends or destroys the stream. */
  read(range: ByteRange): Promise<Readable>
}

interface PackageIndex {
  readonly packages: readonly AssetPackage[]
  /** By package and path, with a `/` between them. */
  readonly files: ReadonlyMap<string, PackageFile>
  /** The digest of the whole list: 64 lower-case hexadecimal characters. */
  readonly sha256: string
}

let loadedIndex: PackageIndex | null = null

/** Returns all packages, by name, and a digest that changes with any file. The index is read at the first use. */
export function listAssetPackages(): Pick<PackageIndex, 'packages' | 'sha256'> {
  loadedIndex ??= loadIndex()
  return loadedIndex
}

/** Returns the file at `<package>/<path>`, or null if there is none. */
export function findPackageFile(path: string): PackageFile | null {
  loadedIndex ??= loadIndex()
  return loadedIndex.files.get(path) ?? null
}

/** Returns what follows `/api/assets/packages/` in a reference, decoded and without a query; null for any other text. */
export function parsePackagePath(reference: string): string | null {
  if (!reference.startsWith(PACKAGES_PATH)) return null
  try {
    const path = decodeURIComponent(reference.slice(PACKAGES_PATH.length).replace(/[?#].*$/s, ''))
    return isObjectKey(path) ? path : null
  } catch {
    return null
  }
}

type IndexEntry = Omit<AssetPackage, 'files'> & { files: Omit<AssetPackage['files'][number], 'url'>[] }

function loadIndex(): PackageIndex {
  const text = readFileSync(new URL('index.json', PACKAGES_FOLDER), 'utf8')
  const files = new Map<string, PackageFile>()
  const packages = (JSON.parse(text) as IndexEntry[]).map(({ files: listed, ...about }): AssetPackage => {
    const shown = listed.map((file) => {
      const path = `${about.name}/${file.path}`
      const v = file.sha256.slice(0, VERSION_CHARACTERS)
      const { content_type, size, sha256 } = file
      const read = (range: ByteRange) => readPackageFile(path, size, range)
      const name = path.slice(path.lastIndexOf('/') + 1)
      files.set(path, { name, content_type, size, sha256, v, created_at: null, expires_at: null, read })
      return { ...file, url: `${PACKAGES_PATH}${path}?v=${v}` }
    })
    return { ...about, files: shown }
  })
  return { packages, files, sha256: sha256(JSON.stringify(packages)) }
}

async function readPackageFile(path: string, size: number, { start, length }: ByteRange): Promise<Readable> {
  const file = await open(new URL(path, PACKAGES_FOLDER))
  const found = (await file.stat()).size
  if (found === size && length > 0)
    return file.createReadStream({ start, end: start + length - 1, highWaterMark: CHUNK_BYTES })
  await file.close()
  if (found === size) return Readable.from([])
  throw new Error(`the bundled file ${path} has ${found} bytes, and not ${size}: the installation is damaged`)
}
