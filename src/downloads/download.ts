// Download fetches the selected files of a repository, a few at a time, and tracks its progress.
import { mkdir } from 'node:fs/promises'
import type { DownloadUpdateFrame } from '../../generated/types.ts'
import { DISK_FULL_MESSAGE, requireDiskSpace } from './disk-space.ts'
import { DownloadError } from './error.ts'
import { ContentMismatchError, fetchFile } from './file-fetcher.ts'
import { type DownloadRequest, selectFiles } from './file-selection.ts'
import type { HubClient } from './hub-client.ts'
import type { HubFile } from './hub-file.ts'
import { retryTransient } from './retry.ts'

export interface DownloadParts {
  readonly request: DownloadRequest
  readonly hub: HubClient
  /** The models folder. */
  readonly folder: string
  readonly pause_ms: number
  /** Called at progress and at the end. `cause` is for the log only. */
  onChange(cause?: unknown): void
}

export type DownloadStatus = DownloadUpdateFrame['status']

const FILES_AT_ONCE = 3
const CANCELLED = new Error('the download was cancelled')

export class Download {
  readonly request: DownloadRequest
  readonly #parts: DownloadParts
  readonly #stop = new AbortController()
  readonly #currentPaths = new Set<string>()
  /** By path. */
  readonly #stored = new Map<string, number>()
  #files: readonly HubFile[] | null = null
  #completedFiles = 0
  #status: DownloadStatus = 'start'
  #error: string | null = null

  constructor(parts: DownloadParts) {
    this.request = parts.request
    this.#parts = parts
  }

  get status(): DownloadStatus {
    return this.#status
  }

  /** The frame that shows the state. */
  get update(): DownloadUpdateFrame {
    const { repo_id, path, model_type } = this.request
    return {
      type: 'download_update',
      status: this.#status,
      repo_id,
      path,
      model_type,
      downloaded_bytes: [...this.#stored.values()].reduce((sum, bytes) => sum + bytes, 0),
      total_bytes: this.#files?.reduce((sum, { size }) => sum + size, 0) ?? null,
      downloaded_files: this.#completedFiles,
      total_files: this.#files?.length ?? null,
      current_files: [...this.#currentPaths],
      error: this.#error,
    } as DownloadUpdateFrame
  }

  /** Runs the download to its end, which `onChange` reports. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#stop
    try {
      signal.throwIfAborted()
      this.#files = await this.#listFiles()
      await mkdir(this.#parts.folder, { recursive: true, mode: 0o700 })
      await requireDiskSpace(this.#parts.folder, this.request.repo_id, this.#files)
      this.#status = 'progress'
      this.#parts.onChange()
      const queue = [...this.#files]
      await Promise.all(Array.from({ length: FILES_AT_ONCE }, () => this.#fetchFiles(queue)))
      this.#end('completed', null)
    } catch (error) {
      if (this.#stop.signal.reason === CANCELLED) return
      this.#stop.abort(error)
      this.#end('failed', describeFailure(error), error)
    }
  }

  /** Cancels the download. Stored bytes stay. */
  cancel(): void {
    this.#stop.abort(CANCELLED)
    this.#end('cancelled', null)
  }

  async #listFiles(): Promise<readonly HubFile[]> {
    const { hub, pause_ms } = this.#parts
    const { signal } = this.#stop
    const listed = await retryTransient(() => hub.listFiles(this.request.repo_id, signal), { signal, pause_ms })
    return selectFiles(listed, this.request, signal)
  }

  async #fetchFiles(queue: HubFile[]): Promise<void> {
    for (let file = queue.shift(); file; file = queue.shift()) {
      this.#stop.signal.throwIfAborted()
      this.#currentPaths.add(file.path)
      try {
        await this.#fetchOne(file)
        this.#completedFiles++
      } catch (error) {
        this.#stop.abort(error)
        throw error
      } finally {
        this.#currentPaths.delete(file.path)
      }
      this.#parts.onChange()
    }
  }

  /** If the hub's file changed during the download, it is looked up and fetched once more. */
  async #fetchOne(file: HubFile): Promise<void> {
    const { hub, folder, pause_ms } = this.#parts
    const { repo_id } = this.request
    const { signal } = this.#stop
    const fetch = (one: HubFile) =>
      fetchFile({
        hub,
        repo_id,
        file: one,
        folder,
        signal,
        pause_ms,
        onStored: (bytes) => this.#recordStored(one.path, bytes),
      })
    try {
      await fetch(file)
    } catch (error) {
      if (!(error instanceof ContentMismatchError)) throw error
      const now = (await this.#listFiles()).find(({ path }) => path === file.path)
      if (!now || now.digest.hex === file.digest.hex) throw error
      this.#files = this.#files!.map((one) => (one.path === now.path ? now : one))
      await fetch(now)
    }
  }

  #recordStored(path: string, bytes: number): void {
    this.#stored.set(path, bytes)
    this.#parts.onChange()
  }

  #end(status: DownloadStatus, error: string | null, cause?: unknown): void {
    if (this.#status !== 'start' && this.#status !== 'progress') return
    this.#currentPaths.clear()
    this.#status = status
    this.#error = error
    this.#parts.onChange(cause)
  }
}

const SYSTEM_ERROR_MESSAGES: Readonly<Record<string, string>> = {
  ENOSPC: DISK_FULL_MESSAGE,
  EDQUOT: DISK_FULL_MESSAGE,
  EACCES: 'The models folder cannot be written.',
  EPERM: 'The models folder cannot be written.',
  EROFS: 'The models folder cannot be written.',
  ENAMETOOLONG: 'The name of a file is too long for this disk.',
  EISDIR: 'A folder has the name of a file to download.',
  ENOTDIR: 'A folder cannot be created, because a file has its name.',
  EEXIST: 'A folder cannot be created, because a file has its name.',
}

function describeFailure(error: unknown): string {
  if (error instanceof DownloadError) return error.message
  return SYSTEM_ERROR_MESSAGES[(error as NodeJS.ErrnoException).code ?? ''] ?? 'An internal error occurred.'
}
