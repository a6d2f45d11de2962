// The settings that the guide lists are those that the server reads, with their defaults.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { type Config, type Environment, readConfig } from '../../src/config.ts'
import { codeBlocks, readGuidePage } from '../helpers/documents.ts'

const settings = readGuidePage('settings')
const authentication = readGuidePage('authentication')

describe('settings in the guide', () => {
  test('every setting is named', () => {
    const sources = ['config.ts', 'config/access.ts', 'config/models.ts'].map((path) =>
      readFileSync(new URL(`../../src/${path}`, import.meta.url), 'utf8'),
    )
    // SVC_ENV belongs to planned features.
    const planned = new Set(["'SVC_ENV'"])
    for (const name of sources.join().match(/'(?:SVC|IDP)_[A-Z0-9_]+'/g) ?? []) {
      const quoted = `\`${name.slice(1, -1)}\``
      if (!planned.has(name)) assert.ok(settings.includes(quoted) || authentication.includes(quoted), `${name}`)
    }
  })

  test('the settings of authentication have these defaults', () => {
    const config = (environment: Environment) => readConfig(environment, { host: '127.0.0.1', port: 7777 })
    const provider = { IDP_URL: 'https://id.example.com', IDP_KEY: 'the-key-of-this-server' }
    const rows = [...authentication.matchAll(/^\| `SVC_([A-Z_]+)` \| ([^|]+) \| /gm)]
    assert.equal(rows.length, 8)
    for (const [, name, told] of rows) {
      const key = name!.toLowerCase() as keyof Config
      const [local, with_provider] = [config({})[key], config(provider)[key]]
      if (told === 'none')
        for (const value of [local, with_provider]) assert.ok(value === null || value.toString() === '')
      else
        assert.deepEqual([local, with_provider, told], [true, false, 'on in Local mode, off with an identity provider'])
    }
  })

  test('the shown settings of authentication cause no warning', () => {
    const shown = codeBlocks(authentication, 'sh')
      .map((block) =>
        Object.fromEntries([...block.matchAll(/((?:SVC|IDP)_[A-Z_]+)=(\S+)/g)].map(([, name, value]) => [name, value])),
      )
      .filter((environment) => Object.keys(environment).length > 0)
    assert.ok(shown.length >= 3)
    for (const environment of shown) {
      const { warnings } = readConfig(environment, { host: '0.0.0.0', port: 7777 })
      assert.deepEqual(warnings, [], JSON.stringify(environment))
    }
  })
})
