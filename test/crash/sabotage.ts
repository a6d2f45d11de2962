// Breaks guarantees of the server from outside: by SQL on the stopped database, or between it and its followers. Each way stands for a part
// of the server that is switched off.
import { rmSync, statSync, truncateSync } from 'node:fs'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import type { JobSnapshot } from '../../generated/types.ts'
import { journalFolderPath, objectsFolderPath } from '../../src/db/files/data-folder.ts'
import { acceptSchema, refreshChecksums } from '../helpers/checksums.ts'
import { changeKilled } from '../helpers/killed-database.ts'
import { isTerminalStatus } from './evidence.ts'
import type { Detour, Sabotage } from './harness.ts'

/** No checkpoint: the journals of running jobs are gone, but their parameters remain. */
export const WITHOUT_CHECKPOINTS: Sabotage = {
  between: (data_dir) =>
    changeKilled(data_dir, (db) => {
      db.exec("delete from job_journal where page > 0 and job_key in (select key from job where status = 'running')")
    }),
}

const TRIGGER = 'job_terminal_is_immutable'

function withoutTrigger(db: Database.Database, work: () => void): void {
  const sql = db.prepare('select sql from sqlite_master where name = ?').pluck().get(TRIGGER) as string
  db.exec(`drop trigger ${TRIGGER}`)
  work()
  db.exec(sql)
}

/** No trigger: completed jobs complete once more later. */
export const WITHOUT_TRIGGER: Sabotage = {
  between: (data_dir) =>
    changeKilled(data_dir, (db) =>
      withoutTrigger(db, () => {
        db.exec("update job set finished_at = '2100-01-01T00:00:00.000Z' where status = 'completed'")
        refreshChecksums(db)
      }),
    ),
}

/** No trigger either. The fault shows only when a client changes immutable data. */
export const TRIGGER_DROPPED: Sabotage = {
  between: (data_dir) =>
    changeKilled(data_dir, (db) => {
      db.exec(`drop trigger if exists ${TRIGGER}`)
      acceptSchema(db)
    }),
}

/** How many of the last stored files are missing on disk. */
const UNWRITTEN = 3

/** Acknowledged files are not synced: of the last stored files, one has its name but not all its bytes. */
export const WITHOUT_SYNC: Sabotage = {
  between: (data_dir) =>
    changeKilled(data_dir, (db) => {
      const last = `select content_key from object where size > 0 order by updated_at desc limit ${UNWRITTEN}`
      for (const key of db.prepare(last).pluck().all() as string[]) {
        const path = join(objectsFolderPath(data_dir), ...key.split('/'))
        truncateSync(path, Math.floor(statSync(path).size / 2))
      }
    }),
}

/** Large values are not synced when the pages that name them are committed. */
export const WITHOUT_VALUES: Sabotage = {
  between: (data_dir) => rmSync(journalFolderPath(data_dir), { recursive: true }),
}

/** No replay: a returning follower gets only later events, or the end of the job, but no earlier events. */
export const WITHOUT_REPLAY: Sabotage = { detour: forgetful }

async function forgetful(url: string): Promise<Detour> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const proxy = createServer((incoming, outgoing) => {
    forward(target, incoming, outgoing).catch(() => outgoing.destroy())
  })
  proxy.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  proxy.on('upgrade', (incoming, socket, head) => tunnel(target, incoming, socket as Socket, head))
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

async function forward(target: URL, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const { method, url: path = '/', headers } = incoming
  const skipped = 'last-event-id' in headers ? await missed(target, path) : null
  const own = skipped === null ? headers : { ...headers, 'last-event-id': String(skipped) }
  const further = request(new URL(path, target), { method, headers: own, agent: false }, (answer) => {
    outgoing.writeHead(answer.statusCode!, answer.headers)
    answer.pipe(outgoing)
    answer.on('error', () => outgoing.destroy())
  })
  further.on('error', () => outgoing.destroy())
  outgoing.on('close', () => further.destroy())
  incoming.pipe(further)
}

/** The sequence up to which a job's events are hidden. Its end is shown to all. */
async function missed(target: URL, path: string): Promise<number> {
  const answer = await fetch(new URL(path.replace(/\/events.*$/, ''), target))
  const { status, last_sequence } = (await answer.json()) as JobSnapshot
  return isTerminalStatus(status) ? last_sequence - 1 : last_sequence
}

/** Forwards a socket unchanged. */
function tunnel(target: URL, incoming: IncomingMessage, socket: Socket, head: Buffer): void {
  const further = connect(Number(target.port), target.hostname)
  const fields = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  further.write(`GET ${incoming.url} HTTP/1.1\r\n${fields.join('')}\r\n`)
  further.write(head)
  further.pipe(socket)
  socket.pipe(further)
  for (const [one, other] of [
    [socket, further],
    [further, socket],
  ] as const) {
    one.on('error', () => other.destroy())
    one.on('close', () => other.destroy())
  }
}
