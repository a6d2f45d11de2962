// A server that is killed while a job sends values that it received before: the receiver sees one value of each finished node.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import type { JobSnapshot, RunResult, Workflow } from '../../generated/types.ts'
import { graph, node } from '../engine/kit.ts'
import { acceptSchema } from '../helpers/checksums.ts'
import { call } from '../helpers/http.ts'
import { type ServingProcess, serve } from '../helpers/process.ts'
import { scaled } from '../helpers/scale.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

const ITEMS = ['a', 'b', 'c', 'd']

/** `/draw/<item>` returns a new value each time; the job sends it to `/send/<item>:<number>`. */
class Peer implements AsyncDisposable {
  /** The values that were sent, in order. */
  readonly sent: string[] = []
  onSend: () => void = () => {}
  readonly #server = createServer((request, response) => this.#take(request, response))
  #drawn = 0

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  #take({ url }: IncomingMessage, response: ServerResponse): void {
    const [, what, given] = url!.split('/')
    if (what === 'send') {
      this.sent.push(given!)
      this.onSend()
    }
    response.end(what === 'draw' ? `${given}:${++this.#drawn}` : 'taken')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** Draws a value for each item, and sends the value. */
function drawing(at: string, method: string) {
  return graph(
    [
      node('items', 'input.List', { name: 'items', value: ITEMS }),
      node('each', 'control.ForEach'),
      node('draw_url', 'text.Template', { template: `http://${at}/draw/{{item}}` }),
      node('draw', 'http.Request', { method: 'GET', response_type: 'text' }),
      node('send_url', 'text.Template', { template: `http://${at}/send/{{drawn}}` }),
      node('send', 'http.Request', { method, response_type: 'text' }),
    ],
    [
      'items.output->each.list',
      'each.item->draw_url.item',
      'draw_url.output->draw.url',
      'draw.body->send_url.drawn',
      'send_url.output->send.url',
    ],
  )
}

/** Slows down the writing of the journal, so that entries are not durable for longer. */
function slowJournal(data_dir: string): void {
  const db = new Database(join(data_dir, 'svc.db'))
  db.exec(`create trigger slow_journal before insert on job_journal
    begin select count(*) from (select 1 from job_event a, job_event b, job_event c limit 3000000); end`)
  acceptSchema(db)
  db.close()
}

async function killedAtSecondSend(method: string): Promise<string[]> {
  const data_dir = temporaryFolder()
  try {
    await using peer = new Peer()
    const at = await peer.listen()
    const environment = { SVC_HTTP_NODE_ALLOW: at }
    let job: RunResult
    {
      await using server = await serve(data_dir, environment)
      const body = { name: 'draws', graph: drawing(at, method) }
      const { body: workflow } = await call<Workflow>(server, 'POST', '/api/workflows', { body })
      // The rows that the slow count scans.
      for (let runs = 0; runs < 15; runs++) await runOf(server, 'greeting', { params: { name: 'Ada' } })
      slowJournal(data_dir)
      peer.onSend = () => {
        if (peer.sent.length === 2) server.kill('SIGKILL')
      }
      job = await runOf(server, workflow.id, { background: true })
      await server.ended()
    }
    await using server = await serve(data_dir, environment)
    await until('the end of the job', async () => {
      const { body } = await call<JobSnapshot>(server, 'GET', `/api/jobs/${job.job_id}`)
      return body.finished_at !== null
    })
    return peer.sent
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

async function runOf(server: ServingProcess, id: string, body: object): Promise<RunResult> {
  const answer = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body })
  assert.ok(answer.status === 200 || answer.status === 202, answer.text)
  return answer.body
}

for (const method of ['GET', 'PUT']) {
  test(`a server that is killed at the second ${method} of a drawn value sends one value for each item`, async () => {
    for (let runs = 0; runs < scaled(1); runs++) {
      const sent = await killedAtSecondSend(method)
      for (const item of ITEMS) {
        const values = new Set(sent.filter((value) => value.startsWith(`${item}:`)))
        assert.equal(values.size, 1, sent.join(' '))
      }
    }
  })
}
