// The worker of the structure check of a large database: it has a read-only connection of its own.
import { parentPort, workerData } from 'node:worker_threads'
import { lowerCurrentThread } from '../../shared/thread-priority.ts'
import { openReadOnlyConnection } from '../connection.ts'
import { WORKER_READY } from './structure-check-thread.ts'
import { findDamages } from './structure-damage.ts'

lowerCurrentThread()

const db = openReadOnlyConnection(workerData as string)
// The first connection has loaded the native library, so the thread may be ended from now on.
parentPort!.postMessage(WORKER_READY)
try {
  parentPort!.postMessage(findDamages(db))
} finally {
  db.close()
}
