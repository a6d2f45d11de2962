// Helpers for tests of previews: media whose work waits, and assets without previews.
import { PreviewScheduler } from '../../src/assets/previews/scheduler.ts'
import { insertAsset } from '../../src/db/assets/rows.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { MediaAccess, MediaTask } from '../../src/engine/node-api/services/media.ts'
import { createLog } from '../../src/log.ts'
import { createMediaPool } from '../../src/media/worker-pool.ts'
import { ADA, about, type Kit } from './kit.ts'
import { flag } from './pictures.ts'

/** The importing test disposes of it. */
export const real = createMediaPool({ processes: 1 })

/** Media whose work waits until the test releases it, and that records its tasks. */
export class Gate implements MediaAccess {
  readonly asked: MediaTask[] = []
  readonly #closed: (task: MediaTask) => boolean
  #open = Promise.withResolvers<void>()

  /** `closed` selects the work that waits: all, by default. */
  constructor(closed: (task: MediaTask) => boolean = () => true) {
    this.#closed = closed
  }

  async run(task: MediaTask) {
    this.asked.push(task)
    const stopped = new Promise((_, reject) => task.signal.addEventListener('abort', () => reject(task.signal.reason)))
    stopped.catch(() => {})
    if (this.#closed(task)) await Promise.race([this.#open.promise, stopped])
    return real.run(task)
  }

  open(): void {
    this.#open.resolve()
  }
}

export function previewsOf(
  { db: { store }, contents }: Kit,
  media: MediaAccess,
  log = createLog('silent'),
): PreviewScheduler {
  const previews = new PreviewScheduler({ store, contents, media, log })
  previews.start()
  return previews
}

/** Pictures that are all different. */
export const pictures = (count: number): Promise<Buffer[]> =>
  Promise.all(
    Array.from({ length: count }, (_, at) =>
      flag(20 + at, 10)
        .png()
        .toBuffer(),
    ),
  )

interface KeptAbout {
  readonly scope?: OwnerScope
  readonly metadata?: string
}

/** Stores bytes as a new asset without telling the scheduler. */
export async function kept({ db, assets }: Kit, bytes: Uint8Array, { scope = ADA, metadata = '{}' }: KeptAbout = {}) {
  const { row } = assets.prepare(scope, bytes, about())
  await db.store.write((tx) => insertAsset(tx, { ...row, metadata }))
  return row
}
