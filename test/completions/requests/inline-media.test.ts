// Pictures and files in conversations: fetched from allowed URLs, loaded from the caller's own assets, and otherwise
// refused with their location.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { ChatCompletionRequest } from '../../../generated/types.ts'
import { createAssetLoader } from '../../../src/assets/asset-reference-loader.ts'
import { type InlineMediaParts, inlineMedia } from '../../../src/completions/requests/inline-media.ts'
import type { OwnerScope } from '../../../src/db/owner-scope.ts'
import type { ServiceError } from '../../../src/errors.ts'
import { createOutgoingHttpClient } from '../../../src/net/outgoing/http-client.ts'
import { TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { longestTurn } from '../../helpers/loop.ts'
import { belowInSome } from '../../helpers/patience.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { ME, stored } from '../../http/storage-kit.ts'
import { given } from '../../http/uploads-kit.ts'
import { httpServer, type TestServer as Web } from '../../net/servers.ts'

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
const PNG_URL = `data:image/png;base64,${PNG.toString('base64')}`
const OTHER: OwnerScope = { user_id: 'other', workspace_id: null }

let server: TestServer
let web: Web
let http: ReturnType<typeof createOutgoingHttpClient>
const asked: string[] = []

before(async () => {
  server = await startServer()
  web = await httpServer((request, response) => {
    asked.push(request.url!)
    const answers: Record<string, () => unknown> = {
      '/picture': () => response.end(PNG),
      // The declared type is ignored.
      '/called-text': () => response.setHeader('Content-Type', 'text/plain').end(PNG),
      '/page': () => response.setHeader('Content-Type', 'image/png').end('<html>hello</html>'),
      '/svg': () =>
        response.setHeader('Content-Type', 'image/svg+xml').end('<svg xmlns="http://www.w3.org/2000/svg"/>'),
      '/large': () => response.end(Buffer.concat([PNG, Buffer.alloc(18 << 20)])),
      '/gone': () => response.writeHead(404).end('sk-secret'),
      '/moved': () => response.writeHead(302, { Location: '/picture' }).end(),
      '/inside': () => response.writeHead(302, { Location: 'http://127.0.0.1:2009/metadata' }).end(),
      '/round': () => response.writeHead(302, { Location: '/round' }).end(),
      '/huge': () => response.writeHead(200, { 'Content-Length': 10 ** 9 }).write(PNG),
      '/endless': () => endless(() => response.write(Buffer.alloc(1 << 20)), response),
      '/hanging': () => response.writeHead(200).write(PNG.subarray(0, 10)),
    }
    const path = request.url!.split('?')[0]!
    if (Object.hasOwn(answers, path)) answers[path]!()
    else response.writeHead(500).end()
  })
  http = createOutgoingHttpClient({ allow: [`127.0.0.1:${web.port}`] })
})
after(async () => {
  await http[Symbol.asyncDispose]()
  await web[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

function endless(write: () => boolean, response: NodeJS.WritableStream & { destroyed?: boolean }): void {
  const more = () => {
    while (!response.destroyed && write());
  }
  response.on('drain', more)
  more()
}

function tools(more: Partial<InlineMediaParts> = {}): InlineMediaParts {
  const { files } = server.context.assets
  return {
    http,
    assetsOf: (owner) => createAssetLoader(files, owner, () => server.url),
    signal: new AbortController().signal,
    slices: new TimeSliceScheduler(),
    ...more,
  }
}

type Part = Record<string, unknown> & { type: string }

function showing(...parts: Part[]): ChatCompletionRequest {
  const messages = [
    { role: 'system', content: 'Look.' },
    { role: 'user', content: [{ type: 'text', text: 'What is this?' }, ...parts] },
  ]
  return { model: 'some/model', messages: messages as never, temperature: 0.5 }
}

const picture = (url: string): Part => ({ type: 'image_url', image_url: { url, detail: 'low' } })
const file = (file_data: string, more: object = {}): Part => ({ type: 'file', file: { file_data, ...more } })

async function shown(part: Part, more: Partial<InlineMediaParts> = {}, owner = ME): Promise<Part> {
  const { messages, ...rest } = await inlineMedia(showing(part), owner, tools(more))
  assert.deepEqual(rest, { model: 'some/model', temperature: 0.5 })
  const [text, found, ...others] = messages[1]!.content as Part[]
  assert.deepEqual([text?.text, others, messages[0]], ['What is this?', [], { role: 'system', content: 'Look.' }])
  return found!
}

/** The error for a refused part. */
async function why(part: Part, param: string, more: Partial<InlineMediaParts> = {}, owner = ME): Promise<string> {
  let message = ''
  await assert.rejects(inlineMedia(showing(part), owner, tools(more)), (error: ServiceError) => {
    message = error.publicMessage
    assert.deepEqual([error.code, error.param], ['INVALID_REQUEST', `messages[1].content[1].${param}`], error.stack)
    assert.equal(error.problems[0]?.path, `/body/messages/1/content/1/${param.replace('.', '/')}`)
    return true
  })
  return message
}

const URL_AT = 'image_url.url'

describe('a picture at a URL', () => {
  for (const path of ['/picture', '/called-text', '/moved'])
    test(`is fetched, and its type comes from its bytes: ${path}`, async () => {
      assert.deepEqual(await shown(picture(web.url + path)), picture(PNG_URL))
    })

  test('is fetched once if it occurs several times', async () => {
    asked.length = 0
    const url = `${web.url}/picture?once`
    const body = await inlineMedia(showing(picture(url), picture(url), picture(url)), ME, tools())
    const urls = (body.messages[1]!.content as Part[]).slice(1).map((part) => (part.image_url as { url: string }).url)
    assert.deepEqual([urls, asked], [[PNG_URL, PNG_URL, PNG_URL], ['/picture?once']])
  })

  test('counts at each occurrence, since it is sent each time', async () => {
    const large = picture(`${web.url}/large`)
    await inlineMedia(showing(large, large), ME, tools())
    await assert.rejects(inlineMedia(showing(large, large, large), ME, tools()), (error: ServiceError) => {
      assert.deepEqual([error.code, error.param], ['INVALID_REQUEST', `messages[1].content[3].${URL_AT}`])
      assert.match(error.publicMessage, /together have more than the limit of 50 MiB/)
      return true
    })
  })

  const refused: [string, () => string, RegExp][] = [
    ['a page', () => `${web.url}/page`, /not a picture/],
    ['a drawing that may hold scripts', () => `${web.url}/svg`, /not a picture/],
    ['nothing', () => `${web.url}/gone`, /answered 404\.$/],
    ['a redirect to a private address', () => `${web.url}/inside`, /refused/],
    ['redirects without an end', () => `${web.url}/round`, /redirected more than 5 times/],
    ['a picture that says it is huge', () => `${web.url}/huge`, /larger/],
    ['a picture without an end', () => `${web.url}/endless`, /larger/],
    ['a private address', () => 'http://10.0.0.1/x.png', /refused/],
    ['this machine', () => 'http://127.0.0.1:2001/x.png', /refused/],
    ['this machine by its name', () => 'http://localhost:2002/x.png', /refused/],
    ['this machine in disguise', () => 'http://[::ffff:127.0.0.1]:2003/x.png', /refused/],
    ['an address of clouds', () => 'http://169.254.169.254/latest/meta-data', /refused/],
    ['a file', () => 'file:///etc/passwd', /URL is not supported/],
    ['something else', () => 'ftp://example.org/x.png', /URL is not supported/],
    ['a word', () => 'picture', /URL is not supported/],
  ]
  for (const [what, url, text] of refused)
    test(`is refused where there is ${what}`, async () => {
      const message = await why(picture(url()), URL_AT)
      assert.match(message, text)
      assert.doesNotMatch(message, /sk-secret|hello/)
    })

  test('is refused if it does not arrive in time', async () => {
    assert.match(await why(picture(`${web.url}/hanging`), URL_AT, { fetch_ms: 50 }), /in time/)
  })

  test('is no longer fetched when the request is cancelled', async () => {
    const leaving = new AbortController()
    const wait = inlineMedia(showing(picture(`${web.url}/hanging`)), ME, tools({ signal: leaving.signal }))
    leaving.abort(new Error('gone'))
    await assert.rejects(wait, /gone/)
  })

  test('is refused as the fifty-first of a request, before any is fetched', async () => {
    asked.length = 0
    const parts = Array.from({ length: 51 }, (_, at) => picture(`${web.url}/picture?${at}`))
    await assert.rejects(inlineMedia(showing(...parts), ME, tools()), (error: ServiceError) => {
      assert.equal(error.param, 'messages[1].content[51].image_url.url')
      return error.code === 'INVALID_REQUEST'
    })
    assert.deepEqual(asked, [])
  })
})

describe('a picture of the caller', () => {
  test('is loaded by its id, by its path and by its URL', async () => {
    const { id, storage_key } = await stored(server, PNG)
    for (const url of [`asset://${id}`, `/api/storage/${storage_key}`, `${server.url}/api/storage/${storage_key}`])
      assert.deepEqual(await shown(picture(url)), picture(PNG_URL))
  })

  test('is loaded from what was uploaded for a run', async () => {
    const { storage_key } = await server.context.assets.temporary.put(ME, given(PNG))
    assert.deepEqual(await shown(picture(`/api/storage/${storage_key}`)), picture(PNG_URL))
  })

  test('does not exist for other callers', async () => {
    const mine = await stored(server, PNG)
    const there = await why(picture(`asset://${mine.id}`), URL_AT, {}, OTHER)
    const missing = await why(picture('asset://missing'), URL_AT, {}, OTHER)
    assert.equal(there.replace(mine.id, 'missing'), missing)
    const at = `/api/storage/${mine.storage_key}`
    assert.match(await why(picture(at), URL_AT, {}, OTHER), /There is no asset/)
    assert.match(await why(picture(server.url + at), URL_AT, {}, OTHER), /There is no asset/)
  })

  test('is refused if it is not a picture, or if its path is invalid', async () => {
    const { id } = await stored(server, 'just text')
    assert.match(await why(picture(`asset://${id}`), URL_AT), /not a picture/)
    for (const url of ['asset://', '/api/storage/', '/api/storage/../secret', '/api/storage/%2e%2e/x'])
      assert.match(await why(picture(url), URL_AT), /not a reference|no asset/)
  })
})

describe('inline content', () => {
  test('stays unchanged, as does its request', async () => {
    const sound = { type: 'input_audio', input_audio: { data: PNG.toString('base64'), format: 'wav' } }
    for (const body of [showing(), showing(picture(PNG_URL), sound, file(`data:application/pdf;base64,AAAA`))])
      assert.equal(await inlineMedia(body, ME, tools()), body)
    const none = { model: 'x', messages: [{ role: 'user', content: 'asset://x' }] } as ChatCompletionRequest
    assert.equal(await inlineMedia(none, ME, tools()), none)
  })

  test('may have megabytes, and is read at once', async () => {
    const body = showing(picture(`data:image/png;base64,${'A'.repeat(5_000_000)}`))
    assert.equal(await inlineMedia(body, ME, tools()), body)
    assert.match(await why(picture(`data:image/png;base64,${'A'.repeat(5_000_003)}!`), URL_AT), /base64/)
    assert.match(await why(picture(`data:image/png;base64,${'A'.repeat(30_000_000)}`), URL_AT), /20 MiB/)
  })

  for (const data of ['A', 'AAA', 'AA=A', 'AAAA=', 'A===', 'AA-_', 'AA AA AA', 'ÄAAA', ''])
    test(`is refused where it is not base64: "${data}"`, async () => {
      assert.match(await why(picture(`data:image/png;base64,${data}`), URL_AT), /base64/)
      assert.match(
        await why({ type: 'input_audio', input_audio: { data, format: 'wav' } }, 'input_audio.data'),
        /base64/,
      )
      assert.match(await why(file(`data:text/plain;base64,${data}`), 'file.file_data'), /base64/)
    })

  test('is refused where it is another kind of data: URL', async () => {
    assert.match(await why(picture('data:image/png,abc'), URL_AT), /must hold base64/)
    assert.match(await why(picture('data:text/html;base64,AAAA'), URL_AT), /type image/)
    assert.match(await why(picture(`data:${'x'.repeat(2_000)};base64,AAAA`), URL_AT), /must hold base64/)
    assert.deepEqual(
      await shown(picture('DATA:image/png;charset=x;base64,AAAA')),
      picture('DATA:image/png;charset=x;base64,AAAA'),
    )
  })
})

describe('a file', () => {
  test('of the caller is loaded, and gets a name if it has none', async () => {
    const { id } = await stored(server, '%PDF-1.7 x', { name: 'paper.pdf' })
    const data = `data:application/pdf;base64,${Buffer.from('%PDF-1.7 x').toString('base64')}`
    assert.deepEqual(await shown(file(`asset://${id}`)), file(data, { filename: 'paper.pdf' }))
    assert.deepEqual(await shown(file(`asset://${id}`, { filename: 'a.pdf' })), file(data, { filename: 'a.pdf' }))
  })

  test('with an id of the provider is left to the provider', async () => {
    const part = { type: 'file', file: { file_id: 'file-abc' } }
    assert.deepEqual(await shown(part), part)
  })

  test('is not fetched from other URLs', async () => {
    assert.match(await why(file(`${web.url}/picture`), 'file.file_data'), /data: URL or asset/)
  })
})

describe('a model that lists its modalities', () => {
  const model = (modalities: readonly ('text' | 'image')[]) => ({ model: { id: 'some/model', modalities } })

  test('is not called with unsupported content, and nothing is fetched', async () => {
    asked.length = 0
    assert.match(await why(picture(`${web.url}/picture`), URL_AT, model(['text'])), /"some\/model" takes no pictures/)
    assert.match(await why(file('data:a/b;base64,AAAA'), 'file.file_data', model(['text', 'image'])), /takes no files/)
    assert.deepEqual(asked, [])
  })

  test('is called with supported content, and a model without a list with any content', async () => {
    for (const modalities of [['text', 'image'], []] as const)
      assert.deepEqual(await shown(picture(`${web.url}/picture`), model(modalities)), picture(PNG_URL))
  })
})

test('very many pictures do not delay others, and of very many URLs only a few are checked', async () => {
  const many = (url: string) => showing(...Array.from({ length: 100_000 }, () => picture(url)))
  const inline = many(PNG_URL)
  await belowInSome(50, () =>
    longestTurn(async () => {
      assert.equal(await inlineMedia(inline, ME, tools()), inline)
    }),
  )
  const links = many('http://a.test/')
  await belowInSome(50, () =>
    longestTurn(() =>
      assert.rejects(inlineMedia(links, ME, tools()), { param: 'messages[1].content[51].image_url.url' }),
    ),
  )
})
