// Lists the model files in the models folder: `owner/name/file.gguf` is the model `owner/name/file`. Names with a leading dot do not count, which
// hides partial downloads. Linked folders, and links that lead out of the folder, do not count either.
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type ScannedFile, scanFolder } from './folder-scan.ts'
import { type GgufHeader, NotGgufError, readGgufHeader } from './gguf-header.ts'

/** The models folder of the settings, or its default. */
export function resolveModelsFolder(config: { readonly models_dir: string | null; readonly data_dir: string }): string {
  return config.models_dir ?? join(config.data_dir, 'models')
}

export interface LocalModelFile {
  /** The path without its ending, with `/` as separator. */
  readonly name: string
  readonly path: string
  /** In bytes, of all parts of a split model. */
  readonly size: number
  /** In milliseconds since the epoch. */
  readonly changed_at: number
  /** Null where the file is no GGUF file, or cannot be read. */
  readonly header: GgufHeader | null
  /** Why the file cannot be used, as a text after its name; null where no fault is known. */
  readonly fault: string | null
}

/** For how long a scan of the folder is used, in milliseconds. */
const FRESH_MS = 2_000
const GGUF_EXTENSION = /\.gguf$/i
/** llama.cpp names the files of a split model like this. */
const SPLIT_FILE_NAME = /^(.*)-(\d{5})-of-(\d{5})$/
/** The architecture of a file that only accompanies a model, such as an image encoder. */
const COMPANION_ARCHITECTURE = 'clip'

const NOT_A_MODEL_FAULT = 'is no GGUF file, or damaged'
const NOT_READABLE_FAULT = 'cannot be read'

type HeaderResult = Pick<LocalModelFile, 'header' | 'fault'>
type KnownFile = ScannedFile & HeaderResult

export class LocalModelFiles {
  readonly #folder: string
  /** By path. */
  #knownFiles = new Map<string, KnownFile>()
  #recentScan: { readonly at: number; readonly files: Promise<LocalModelFile[]> } | null = null

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Scans the folder. Models come in order of their names; none where the folder is missing. @throws what the system throws */
  async list(): Promise<LocalModelFile[]> {
    const files = this.#scanFiles()
    const scan = { at: performance.now(), files }
    this.#recentScan = scan
    files.catch(() => {
      if (this.#recentScan === scan) this.#recentScan = null
    })
    return files
  }

  /** Finds one model in its present state. Callers within a short time share a scan of the folder. @throws what the system throws */
  async find(name: string): Promise<LocalModelFile | null> {
    const shared =
      this.#recentScan && performance.now() - this.#recentScan.at < FRESH_MS ? this.#recentScan.files : null
    if (shared) {
      const known = (await shared).find((file) => file.name === name)
      if (known && (await isUnchanged(known))) return known
    }
    return (await this.list()).find((file) => file.name === name) ?? null
  }

  /** Records a fault that the header does not show. It holds until the file changes. */
  markFaulty({ path, size, changed_at }: LocalModelFile, fault: string): void {
    const known = this.#knownFiles.get(path)
    if (known) this.#knownFiles.set(path, { ...known, size, changed_at, fault })
    this.#recentScan = null
  }

  async #scanFiles(): Promise<LocalModelFile[]> {
    const files: LocalModelFile[] = []
    const read = new Map<string, KnownFile>()
    for (const [name, file] of groupByModel(await scanFolder(this.#folder, GGUF_EXTENSION))) {
      const known = await this.#readHeader(file)
      if (known.fault !== NOT_READABLE_FAULT) read.set(file.path, known)
      const { header, fault } = known
      if (header?.architecture !== COMPANION_ARCHITECTURE) files.push({ ...file, name, header, fault })
    }
    this.#knownFiles = read
    return files.sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async #readHeader(file: ScannedFile): Promise<KnownFile> {
    const before = this.#knownFiles.get(file.path)
    if (before?.changed_at === file.changed_at && before.size === file.size) return before
    const read = await readGgufHeader(file.path).then(
      (header): HeaderResult => ({ header, fault: null }),
      (error): HeaderResult => ({
        header: null,
        fault: error instanceof NotGgufError ? NOT_A_MODEL_FAULT : NOT_READABLE_FAULT,
      }),
    )
    return { ...file, ...read }
  }
}

async function isUnchanged({ path, changed_at }: LocalModelFile): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found?.mtimeMs === changed_at
}

interface FilePart {
  readonly at: number
  readonly file: ScannedFile
}

/**
 * Groups files by model name. A split model counts as its first file, and only where no part is missing. Of several files with one name a whole
 * file precedes a split one, and the ending `.gguf` precedes other spellings.
 */
function groupByModel(found: ReadonlyMap<string, ScannedFile>): Map<string, ScannedFile> {
  const models = new Map<string, ScannedFile>()
  const sets = new Map<string, { readonly stem: string; readonly count: number; readonly parts: FilePart[] }>()
  const usualFirst = [...found].sort(([a], [b]) => Number(b.endsWith('.gguf')) - Number(a.endsWith('.gguf')))
  for (const [path, file] of usualFirst) {
    const name = path.replace(GGUF_EXTENSION, '')
    const [, stem, at, of] = SPLIT_FILE_NAME.exec(name) ?? []
    if (stem === undefined) {
      if (!models.has(name)) models.set(name, file)
      continue
    }
    const set = sets.get(`${stem}/${of}`) ?? { stem, count: Number(of), parts: [] }
    sets.set(`${stem}/${of}`, set)
    if (!set.parts.some((part) => part.at === Number(at))) set.parts.push({ at: Number(at), file })
  }
  for (const { stem, count, parts } of sets.values()) {
    const first = parts.find(({ at }) => at === 1)
    const whole = parts.length === count && parts.every(({ at }) => at >= 1 && at <= count)
    if (!first || !whole || models.has(stem)) continue
    models.set(stem, { ...first.file, size: parts.reduce((sum, { file }) => sum + file.size, 0) })
  }
  return models
}
