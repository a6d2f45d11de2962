// The thread's side of a look through the structure of a large database: a connection of its own that only reads.
import { parentPort, workerData } from 'node:worker_threads'
import { lowerCurrentThread } from '../../shared/thread-priority.ts'
import { openReadOnlyConnection } from '../connection.ts'
import { WORKER_READY } from './structure-check-thread.ts'
import { findDamages } from './structure-damage.ts'

lowerCurrentThread()

const db = openReadOnlyConnection(workerData as string)
// The library for the database is loaded, with the first connection and not before: from now on the thread may be ended.
parentPort!.postMessage(WORKER_READY)
try {
  parentPort!.postMessage(findDamages(db))
} finally {
  db.close()
}
