// One download: the files of a repository that are meant, one after the other or a few at once, and how far it has come.
import { mkdir } from 'node:fs/promises'
import type { DownloadUpdateFrame } from '../../generated/types.ts'
import { inAttempts } from './attempts.ts'
import { chosen, type Wanted } from './choosing.ts'
import { DownloadFault } from './fault.ts'
import { fetchFile, WrongContent } from './fetching.ts'
import type { Hub } from './hub.ts'
import type { HubFile } from './hub-file.ts'
import { guardRoom, NO_ROOM } from './room.ts'

export interface DownloadParts {
  readonly wanted: Wanted
  readonly hub: Hub
  /** The models folder. */
  readonly folder: string
  readonly pause_ms: number
  /** Told when it has come further, and how it ended; `cause` is for the log alone. */
  changed(cause?: unknown): void
}

export type Status = DownloadUpdateFrame['status']

const FILES_AT_ONCE = 3
const CANCELLED = new Error('the download was cancelled')

export class Download {
  readonly wanted: Wanted
  readonly #parts: DownloadParts
  readonly #stop = new AbortController()
  readonly #current = new Set<string>()
  /** By path. */
  readonly #stored = new Map<string, number>()
  #files: readonly HubFile[] | null = null
  #complete = 0
  #status: Status = 'start'
  #error: string | null = null

  constructor(parts: DownloadParts) {
    this.wanted = parts.wanted
    this.#parts = parts
  }

  get status(): Status {
    return this.#status
  }

  /** As frames tell it. */
  get update(): DownloadUpdateFrame {
    const { repo_id, path, model_type } = this.wanted
    return {
      type: 'download_update',
      status: this.#status,
      repo_id,
      path,
      model_type,
      downloaded_bytes: [...this.#stored.values()].reduce((sum, bytes) => sum + bytes, 0),
      total_bytes: this.#files?.reduce((sum, { size }) => sum + size, 0) ?? null,
      downloaded_files: this.#complete,
      total_files: this.#files?.length ?? null,
      current_files: [...this.#current],
      error: this.#error,
    } as DownloadUpdateFrame
  }

  /** To its end, which `changed` is told. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#stop
    try {
      signal.throwIfAborted()
      this.#files = await this.#list()
      await mkdir(this.#parts.folder, { recursive: true, mode: 0o700 })
      await guardRoom(this.#parts.folder, this.wanted.repo_id, this.#files)
      this.#status = 'progress'
      this.#parts.changed()
      const left = [...this.#files]
      await Promise.all(Array.from({ length: FILES_AT_ONCE }, () => this.#fetch(left)))
      this.#end('completed', null)
    } catch (error) {
      if (this.#stop.signal.reason === CANCELLED) return
      this.#stop.abort(error)
      this.#end('failed', sentenceOf(error), error)
    }
  }

  /** What is stored stays. */
  cancel(): void {
    this.#stop.abort(CANCELLED)
    this.#end('cancelled', null)
  }

  async #list(): Promise<readonly HubFile[]> {
    const { hub, pause_ms } = this.#parts
    const { signal } = this.#stop
    const listed = await inAttempts(() => hub.files(this.wanted.repo_id, signal), { signal, pause_ms })
    return chosen(listed, this.wanted, signal)
  }

  async #fetch(left: HubFile[]): Promise<void> {
    for (let file = left.shift(); file; file = left.shift()) {
      this.#stop.signal.throwIfAborted()
      this.#current.add(file.path)
      try {
        await this.#fetchOne(file)
        this.#complete++
      } catch (error) {
        this.#stop.abort(error)
        throw error
      } finally {
        this.#current.delete(file.path)
      }
      this.#parts.changed()
    }
  }

  /** One that changed while it was fetched is looked up once more. */
  async #fetchOne(file: HubFile): Promise<void> {
    const { hub, folder, pause_ms } = this.#parts
    const { repo_id } = this.wanted
    const { signal } = this.#stop
    const fetch = (one: HubFile) =>
      fetchFile({ hub, repo_id, file: one, folder, signal, pause_ms, stored: (bytes) => this.#store(one.path, bytes) })
    try {
      await fetch(file)
    } catch (error) {
      if (!(error instanceof WrongContent)) throw error
      const now = (await this.#list()).find(({ path }) => path === file.path)
      if (!now || now.digest.hex === file.digest.hex) throw error
      this.#files = this.#files!.map((one) => (one.path === now.path ? now : one))
      await fetch(now)
    }
  }

  #store(path: string, bytes: number): void {
    this.#stored.set(path, bytes)
    this.#parts.changed()
  }

  #end(status: Status, error: string | null, cause?: unknown): void {
    if (this.#status !== 'start' && this.#status !== 'progress') return
    this.#current.clear()
    this.#status = status
    this.#error = error
    this.#parts.changed(cause)
  }
}

const CODES: Readonly<Record<string, string>> = {
  ENOSPC: NO_ROOM,
  EDQUOT: NO_ROOM,
  EACCES: 'The models folder cannot be written.',
  EPERM: 'The models folder cannot be written.',
  EROFS: 'The models folder cannot be written.',
  ENAMETOOLONG: 'The name of a file is too long for this disk.',
  EISDIR: 'There is a folder where a file is to go.',
  ENOTDIR: 'There is a file where a folder is to go.',
  EEXIST: 'There is a file where a folder is to go.',
}

function sentenceOf(error: unknown): string {
  if (error instanceof DownloadFault) return error.message
  return CODES[(error as NodeJS.ErrnoException).code ?? ''] ?? 'Something went wrong on the server.'
}
