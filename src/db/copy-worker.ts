// The thread's side: a connection of its own, and one pass over the write-ahead log whenever it is asked for one. It never
// takes the lock of writers, and waits for nobody.
import { parentPort, workerData } from 'node:worker_threads'
import { type Connection, connect } from './connection.ts'
import { copyLog } from './copying.ts'
import { codeOf } from './faults.ts'
import type { CopierData, FromCopier, ToCopier } from './log-copier.ts'

const { path, durability } = workerData as CopierData
const port = parentPort!
let db: Connection | null = null

function post(message: FromCopier): void {
  port.postMessage(message)
}

function open(): Connection {
  const opened = connect(path, { durability, exists: true })
  // Whoever closes it last would copy the log, which may be long: the store does so itself.
  opened.pragma('wal_autocheckpoint = 0')
  // Looks whether it is a database: a pass over one that was not read says nothing.
  opened.prepare('select count(*) from sqlite_schema').get()
  post({ kind: 'opened', synchronous: opened.pragma('synchronous', { simple: true }) })
  return opened
}

function copy(): void {
  try {
    db ??= open()
    const row = copyLog(db)
    post({ kind: 'passed', copied: row.busy ? null : { pages: row.log, copied: row.checkpointed } })
  } catch (error) {
    post({ kind: 'failed', code: codeOf(error), message: error instanceof Error ? error.message : String(error) })
  }
}

port.on('message', (order: ToCopier) => {
  if (order === 'copy') return copy()
  db?.close()
  port.close()
})
