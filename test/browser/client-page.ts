// What the page of client.test.ts does with the client. It is bundled for a browser.
import { createClient, ServiceError } from '../../src/client/browser.ts'

const facts = (error: unknown) =>
  error instanceof ServiceError ? [error.code, error.status, error.retryable] : String(error)

const nameOf = async (client: ReturnType<typeof createClient>) =>
  (await client.rpc('get_workflow_interface', { id: 'greeting' })).inputs[0]?.name

const tries = {
  async run(url: string, token?: string) {
    await using client = createClient({ url, token })
    return await client.run('greeting', { name: 'Ada' })
  },

  async follow(url: string) {
    await using client = createClient({ url })
    const job = await client.submit('greeting', { name: 'Bob' })
    const events = []
    for await (const event of job) events.push(event)
    const sequences = events.map(({ sequence }) => sequence)
    return { sequences, last: events.at(-1)?.type, outputs: (await job.result).outputs }
  },

  async interface(url: string, token?: string) {
    await using client = createClient({ url, token, encoding: 'json-text' })
    return await nameOf(client)
  },

  async renewed(url: string, token: string) {
    let asked = 0
    await using client = createClient({ url, token: async () => (++asked === 1 ? 'ntk_of_yesterday' : token) })
    return [await nameOf(client), asked]
  },

  async upload(url: string) {
    await using client = createClient({ url })
    const told: object[] = []
    const file = new File([new Uint8Array(20_000_000)], 'a file.bin')
    const { uri, size, name } = await client.upload(file, { onProgress: (progress) => told.push(progress) })
    const stored = await fetch(new URL(uri, url))
    return { size, name, told, stored: (await stored.blob()).size }
  },

  async upload_given_up(url: string) {
    await using client = createClient({ url })
    const controller = new AbortController()
    const onProgress = () => controller.abort(new Error('enough'))
    const file = new Blob([new Uint8Array(20_000_000)])
    return await client.upload(file, { onProgress, signal: controller.signal }).then(
      () => 'uploaded',
      (error: Error) => error.message,
    )
  },

  async refused_request(url: string, token: string) {
    await using client = createClient({ url, token })
    return await client.capabilities().catch(facts)
  },

  async refused_socket(url: string, token: string) {
    await using client = createClient({ url, token })
    return await nameOf(client).catch(facts)
  },
}

Object.assign(globalThis, { tries })
