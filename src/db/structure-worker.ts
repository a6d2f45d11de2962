// The thread's side of a look through the structure of a large database: a connection of its own that only reads.
import { parentPort, workerData } from 'node:worker_threads'
import { lowerThread } from '../thread-priority.ts'
import { connectForReading } from './connection.ts'
import { contentDamages } from './structure.ts'
import { READY } from './structure-check.ts'

lowerThread()

const db = connectForReading(workerData as string)
// The library for the database is loaded, with the first connection and not before: from now on the thread may be ended.
parentPort!.postMessage(READY)
try {
  parentPort!.postMessage(contentDamages(db))
} finally {
  db.close()
}
