// The answers that callers get: to a request, to a command, and to all lists.
import { call } from '../../helpers/http.ts'
import type { TestServer } from '../../helpers/server.ts'
import { type Client, connect, type Frame } from '../../helpers/socket.ts'
import { COMMANDS } from './commands.ts'
import { type Asked, OPERATIONS } from './operations.ts'
import type { Caller, Scene, Things } from './scene.ts'

/** The answer to a request, without parts that differ each time. */
export async function told(scene: Scene, caller: Caller, { method, path, body, form }: Asked): Promise<string> {
  const sent = { ...caller.headers, ...form?.headers }
  const answer = await call(scene.server, method, path, { body, raw: form?.raw, headers: sent })
  const { date: _date, 'x-request-id': _id, ...headers } = answer.headers
  return nameless(scene, JSON.stringify([answer.status, answer.text, headers]))
}

/** The same, with the number of database statements. */
export async function seen(scene: Scene, caller: Caller, asked: Asked): Promise<string> {
  const { store } = scene.server.context
  const before = store.statements
  const text = await told(scene, caller, asked)
  return `${text} ${store.statements - before} statements`
}

/** The text without the names of the owner's things, and of unknown ones. */
function nameless({ things, missing }: Scene, text: string): string {
  const names = [things, missing].flatMap((some) => Object.entries(some) as [keyof Things, string][])
  return names
    .sort(([, a], [, b]) => b.length - a.length)
    .reduce(
      (rest, [name, id]) => rest.replaceAll(id, `<${name}>`).replaceAll(encodeURIComponent(id), `<${name}>`),
      text,
    )
}

/** All frames that answer a command, without ids and times, and the statements that it took. */
export async function heard(scene: Scene, client: Client, command: string, data: object): Promise<string> {
  const { store } = scene.server.context
  await client.settled()
  const before = store.statements
  const frames = await answers(client, command, data)
  return nameless(scene, JSON.stringify([frames, store.statements - before]))
}

async function answers(client: Client, command: string, data: object): Promise<Frame[]> {
  const from = client.frames.length
  const { job_id } = data as { job_id?: string }
  if (job_id === undefined) await client.ask(command, data, 'asked')
  else {
    client.command(command, data, 'asked')
    // Commands for the same job are executed in order.
    await client.settledFor(job_id)
  }
  await client.settled()
  return client.frames
    .slice(from)
    .filter(({ type }) => type !== 'pong' && type !== 'ping')
    .map(withoutNumbers)
}

/** The ids of the client's own requests continue. */
function withoutNumbers(frame: Frame): Frame {
  return frame.request_id?.startsWith('req-') ? { ...frame, request_id: 'req' } : frame
}

/** The answers of all operations and commands that list a caller's things. */
export async function listings(server: TestServer, { headers }: Caller): Promise<string> {
  const lines: string[] = []
  for (const one of Object.values(OPERATIONS)) {
    if (one.kind !== 'listed') continue
    for (const { method, path } of one.ask) lines.push((await call(server, method, path, { headers })).text)
  }
  await using client = await connect(server, { headers })
  for (const [command, cases] of Object.entries(COMMANDS)) {
    for (const one of [cases].flat()) {
      if (one.kind === 'listed') lines.push(JSON.stringify(await answers(client, command, one.data)))
    }
  }
  return lines.join('\n')
}
