// The worker of checkpoints: it has a connection of its own, and makes one pass over the write-ahead log per request. It never takes the lock of
// writers, and never waits.
import { parentPort, workerData } from 'node:worker_threads'
import { openConnection, type SqliteConnection } from '../connection.ts'
import { errorCode } from '../health/database-faults.ts'
import { runPassiveCheckpoint } from './checkpoint.ts'
import type { CheckpointCommand, CheckpointMessage, CheckpointWorkerData } from './checkpoint-thread.ts'

const { path, durability } = workerData as CheckpointWorkerData
const port = parentPort!
let db: SqliteConnection | null = null

function post(message: CheckpointMessage): void {
  port.postMessage(message)
}

function openWalConnection(): SqliteConnection {
  const opened = openConnection(path, { durability, exists: true })
  // Otherwise the last connection to close would copy the log, which may be long: the store does so itself.
  opened.pragma('wal_autocheckpoint = 0')
  // Verifies that the file is a database: a pass without a read would not notice.
  opened.prepare('select count(*) from sqlite_schema').get()
  post({ kind: 'opened', synchronous: opened.pragma('synchronous', { simple: true }) })
  return opened
}

function runPass(): void {
  try {
    db ??= openWalConnection()
    const row = runPassiveCheckpoint(db)
    post({ kind: 'passed', copied: row.busy ? null : { pages: row.log, copied: row.checkpointed } })
  } catch (error) {
    post({ kind: 'failed', code: errorCode(error), message: error instanceof Error ? error.message : String(error) })
  }
}

port.on('message', (order: CheckpointCommand) => {
  if (order === 'copy') return runPass()
  db?.close()
  port.close()
})
