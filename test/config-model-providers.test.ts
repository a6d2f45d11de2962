// Every described provider appears in the settings, the registry, the help, the guide and the contract, and is named nowhere else.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { formatHelp } from '../src/cli/help.ts'
import {
  DISCOVERABLE_PROVIDERS,
  listProviderSettings,
  MODEL_PROVIDERS,
  type ProviderDescription,
} from '../src/config/model-providers.ts'
import { readConfig } from '../src/config.ts'
import { createConfiguredProviders } from '../src/models/providers/configured-providers.ts'
import { UpstreamClient } from '../src/net/upstream/client.ts'
import { readGuidePage } from './helpers/documents.ts'

const ROOT = new URL('../', import.meta.url)
const openapi = JSON.parse(readFileSync(new URL('generated/openapi.json', ROOT), 'utf8'))

describe('each described provider', () => {
  for (const described of MODEL_PROVIDERS) {
    const { name, title, kind, credential, url_setting, port } = described

    test(`follows from the settings: ${name}`, async () => {
      const environment = {
        SVC_DATA_DIR: '/nowhere',
        SVC_DEFAULT_PROVIDER: name,
        ...(credential === undefined ? {} : { [credential]: 'a-key-of-mine' }),
        ...(url_setting === undefined ? {} : { [url_setting]: 'http://box.example:9' }),
      }
      const config = readConfig(environment, { host: '127.0.0.1', port: 0 })
      assert.deepEqual(Object.keys(config.provider_keys), credential === undefined ? [] : [credential])
      await using client = new UpstreamClient()
      using providers = createConfiguredProviders({ config, client })
      const provider = providers.get(name)
      if (port !== undefined && url_setting === undefined) {
        assert.equal(provider, undefined)
        assert.ok(DISCOVERABLE_PROVIDERS.some((one) => one.name === name))
      } else {
        assert.ok(provider)
        assert.deepEqual([provider.title, provider.kind, provider.credential], [title, kind, credential ?? null])
        assert.equal(
          provider.base_url !== undefined && new URL(provider.base_url).host,
          url_setting !== undefined && 'box.example:9',
        )
      }
    })

    test(`has its settings and its port in the help and in the guide: ${name}`, () => {
      const help = formatHelp('models')
      for (const [setting, purpose] of listProviderSettings(described)) {
        assert.ok(help.includes(`  ${setting.padEnd(24)}${purpose}\n`), setting)
        assert.match(readGuidePage('settings'), new RegExp(`^\\| \`${setting}\` `, 'm'))
        assert.ok(readGuidePage('models').includes(`\`${setting}\``), setting)
      }
      if (port !== undefined) assert.ok(help.includes(`${title} ${port}`))
    })
  }

  test('has a kind of the contract, which lists no other kinds', () => {
    const kinds: string[] = openapi.components.schemas.ModelProvider.properties.kind.enum
    assert.deepEqual(new Set(kinds), new Set([...MODEL_PROVIDERS.map(({ kind }) => kind), 'workflow']))
  })

  /** Files with the code of a provider, or of its protocol. */
  const isOwn = (path: string, { name, kind }: ProviderDescription) =>
    path === 'src/config/model-providers.ts' ||
    [name, kind === 'openai_compatible' ? 'openai' : kind].some((own) => path.startsWith(`src/models/providers/${own}`))
  /** Words with other meanings: a format of errors, and this machine. */
  const AMBIGUOUS = ['openai', 'local']

  test('is named in no other source file', () => {
    const wrong = globSync('src/**/*.ts', { cwd: ROOT.pathname }).flatMap((path) => {
      const code = readFileSync(new URL(path, ROOT), 'utf8').replaceAll(/^\s*(?:\/\/|\/?\*).*$/gm, '')
      return MODEL_PROVIDERS.filter((one) => !isOwn(path, one)).flatMap((one) => {
        const settings = listProviderSettings(one).map(([setting]) => `\\b${setting}\\b`)
        const literals = AMBIGUOUS.includes(one.name) ? settings : [...settings, `'${one.name}'`]
        return literals.filter((text) => new RegExp(text).test(code)).map((text) => `${path} names ${text}`)
      })
    })
    assert.deepEqual(wrong, [])
  })
})
