// The bundled packages of files: listed in an index that was made with them, and read from where the service is installed. Only what the
// index names is ever opened, whatever is asked for.
import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { AssetPackage } from '../../generated/types.ts'
import { sha256 } from '../shared/hashes.ts'
import { isObjectKey } from './storage-keys.ts'
import type { ByteRange } from './stores/object-store.ts'

const PACKAGES_FOLDER = new URL('../packages/', import.meta.url)
/** Where they are served: each file by its package's name and its path in it. */
export const PACKAGES_PATH = '/api/assets/packages/'
/** Bytes that are read at once. */
const CHUNK_BYTES = 128 * 1024
/** Characters of a digest that name a file's bytes in its address. */
const VERSION_CHARACTERS = 16

/** A file of a package. Everybody may read it, and it stays as long as the service is the same. */
export interface PackageFile {
  readonly name: string
  readonly content_type: string
  /** Bytes. */
  readonly size: number
  readonly sha256: string
  /** What its address has of its digest. */
  readonly v: string
  readonly created_at: null
  readonly expires_at: null
  /** Bytes that lie within it. Whoever gets the stream ends or destroys it. */
  read(range: ByteRange): Promise<Readable>
}

interface PackageIndex {
  readonly packages: readonly AssetPackage[]
  /** By package and path, with a `/` between them. */
  readonly files: ReadonlyMap<string, PackageFile>
  /** Of the whole list: 64 lower-case hexadecimal characters. */
  readonly sha256: string
}

let loadedIndex: PackageIndex | null = null

/** All packages, by name, and a digest that is another one where anything in them is. The index is read when it is first needed. */
export function listAssetPackages(): Pick<PackageIndex, 'packages' | 'sha256'> {
  loadedIndex ??= loadIndex()
  return loadedIndex
}

/** The file at `<package>/<path>`, or null where there is none. */
export function findPackageFile(path: string): PackageFile | null {
  loadedIndex ??= loadIndex()
  return loadedIndex.files.get(path) ?? null
}

/** What stands behind `/api/assets/packages/` in a reference to a file there, decoded and without a query; null for anything else. */
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
