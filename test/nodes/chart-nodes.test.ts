// Charts: their contents by the shapes and texts of the SVG and by pixels of the PNG; and invalid inputs.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import sharp from 'sharp'
import { failsAs } from './fails-as.ts'
import { mediaNodes } from './with-media.ts'

const nodes = mediaNodes()
after(() => nodes[Symbol.asyncDispose]())

interface Picture {
  data: Uint8Array
  content_type: string
  name: string
  width: number
  height: number
}

async function pictureOf(type: string, inputs: Record<string, unknown>): Promise<Picture> {
  return (await nodes.fire(type, inputs)).image as Picture
}

async function svgOf(type: string, inputs: Record<string, unknown>): Promise<string> {
  const picture = await pictureOf(type, { ...inputs, format: 'svg' })
  assert.equal(picture.content_type, 'image/svg+xml')
  return new TextDecoder().decode(picture.data)
}

/** The content of the first group with this role: `axis-label`, `mark`. */
function group(svg: string, role: string, at = 0): string {
  const begin = svg.split(new RegExp(`<g class="[^"]*role-${role}[ "]`))[at + 1]!
  return begin.slice(0, begin.indexOf('</g>'))
}

/** The texts of all groups with a role, in reading order. */
function texts(svg: string, role: string): string[] {
  const count = svg.split(new RegExp(`role-${role}[ "]`)).length - 1
  return Array.from({ length: count }, (_, at) => group(svg, role, at)).flatMap((part) =>
    [...part.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text!),
  )
}

/** Bars as `x,y width×height colour`, in whole pixels. */
function bars(svg: string): string[] {
  const shape = /d="M([\d.]+),([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+Z"[^>]*fill="([^"]+)"/g
  return [...group(svg, 'mark').matchAll(shape)].map(([, x, y, width, height, fill]) => {
    const [a, b, c, d] = [x, y, width, height].map((one) => Math.round(Number(one)))
    return `${a},${b} ${c}×${d} ${fill}`
  })
}

const SALES = [
  { shop: 'north', sold: 1, kind: 'tea' },
  { shop: 'south', sold: 3, kind: 'tea' },
  { shop: 'north', sold: 2, kind: 'ink' },
  { shop: 'south', sold: 1, kind: 'ink' },
]
const SMALL = { width: 300, height: 200 }

describe('chart.Bar', () => {
  test('adds up values with the same name, in the order of first appearance', async () => {
    const svg = await svgOf('chart.Bar', { rows: SALES, x: 'shop', y: 'sold', ...SMALL, title: 'Sold' })
    assert.deepEqual(texts(svg, 'axis-label').slice(0, 2), ['north', 'south'])
    assert.deepEqual(texts(svg, 'axis-title'), ['shop', 'sold'])
    assert.deepEqual(texts(svg, 'title-text'), ['Sold'])
    const heights = bars(svg).map((bar) => Number(/×(\d+)/.exec(bar)![1]))
    assert.equal(heights.length, 2)
    assert.ok(Math.abs(heights[0]! / heights[1]! - 3 / 4) < 0.01, heights.join())
  })

  test('draws series stacked, side by side, or horizontally', async () => {
    const by = { rows: SALES, x: 'shop', y: 'sold', colour: 'kind', ...SMALL }
    const stacked = await svgOf('chart.Bar', by)
    assert.deepEqual(texts(stacked, 'legend-label'), ['tea', 'ink'])
    assert.equal(new Set(bars(stacked).map((bar) => bar.split(',')[0])).size, 2)
    assert.deepEqual(new Set(bars(stacked).map((bar) => bar.split(' ')[2])), new Set(['#4c78a8', '#f58518']))
    const grouped = bars(await svgOf('chart.Bar', { ...by, layout: 'grouped' }))
    assert.equal(new Set(grouped.map((bar) => bar.split(',')[0])).size, 4)
    const flat = bars(await svgOf('chart.Bar', { ...by, horizontal: true, colour: null }))
    assert.deepEqual(
      flat.map((bar) => bar.split(',')[0]),
      ['0', '0'],
    )
  })

  test('stacks series in the order of the legend, the first on top, or draws them side by side from the left', async () => {
    const rows = ['z', 'a', 'm'].map((kind) => ({ shop: 'north', sold: 1, kind }))
    const by = { rows, x: 'shop', y: 'sold', colour: 'kind', ...SMALL }
    const order = (svg: string, place: (bar: number[]) => number) =>
      bars(svg)
        .map((bar) => [...bar.split(/[, ×]/).slice(0, 2).map(Number), bar.split(' ')[2]!] as const)
        .sort((one, other) => place(one as never) - place(other as never))
        .map(([, , colour]) => colour)
    const legend = ['#4c78a8', '#f58518', '#e45756']
    assert.deepEqual(
      order(await svgOf('chart.Bar', by), ([, y]) => y!),
      legend,
    )
    assert.deepEqual(
      order(await svgOf('chart.Bar', { ...by, horizontal: true }), ([x]) => x!),
      legend,
    )
    const svg = await svgOf('chart.Histogram', { rows, x: 'sold', colour: 'kind', ...SMALL })
    assert.deepEqual(texts(svg, 'legend-label'), ['z', 'a', 'm'])
    assert.deepEqual(
      order(svg, ([, y]) => y!),
      legend,
    )
  })

  test('counts rows without a column of numbers', async () => {
    const svg = await svgOf('chart.Bar', { rows: [...SALES, { shop: 'north' }], x: 'shop', ...SMALL, y_title: 'rows' })
    const heights = bars(svg).map((bar) => Number(/×(\d+)/.exec(bar)![1]))
    assert.ok(Math.abs(heights[1]! / heights[0]! - 2 / 3) < 0.01, heights.join())
    assert.deepEqual(texts(svg, 'axis-title'), ['shop', 'rows'])
  })

  test('shows column names and texts unchanged', async () => {
    const [x, y] = [`a.b[0]["c"]'\\`, '__proto__']
    const evil = '<script>alert(1)</script>&"\u0000\ud800'
    const row = JSON.parse(`{"__proto__": 5}`) as Record<string, unknown>
    row[x] = evil
    const svg = await svgOf('chart.Bar', { rows: [row], x, y, ...SMALL, title: `datum.x + '"${evil}` })
    assert.equal(bars(svg).length, 1)
    assert.ok(!svg.includes('<script') && !svg.includes('\u0000'))
    assert.deepEqual(texts(svg, 'axis-label')[0], '&lt;script&gt;alert(1)&lt;/script&gt;&amp;"\ufffd')
    assert.equal(texts(svg, 'axis-title')[0], `a.b[0]["c"]'\\`)
    assert.match(texts(svg, 'title-text')[0]!, /^datum\.x \+ '"&lt;script/)
    await sharp(Buffer.from(svg)).png().toBuffer()
  })

  test('gives the same picture for the same inputs, whatever was drawn before', async () => {
    const inputs = { rows: SALES, x: 'shop', y: 'sold', colour: 'kind' }
    const first = await svgOf('chart.Bar', inputs)
    await svgOf('chart.Pie', { rows: SALES, names: 'shop', values: 'sold' })
    assert.equal(await svgOf('chart.Bar', inputs), first)
    // The viewer of the picture may not have the font.
    assert.match(first, /font-family="DejaVu Sans, [^"]+, sans-serif"/)
  })

  test('makes a PNG of as many pixels as asked for', async () => {
    const png = await pictureOf('chart.Bar', { rows: SALES, x: 'shop', y: 'sold', ...SMALL, scale: 2 })
    assert.deepEqual([png.width, png.height, png.content_type, png.name], [600, 400, 'image/png', 'chart.png'])
    const { data, info } = await sharp(png.data).raw().toBuffer({ resolveWithObject: true })
    const at = (x: number, y: number) =>
      data
        .subarray((y * info.width + x) * info.channels)
        .subarray(0, 3)
        .toString('hex')
    assert.deepEqual(
      [info.width, info.height, at(2, 2), at(460, 200), at(190, 30)],
      [600, 400, 'ffffff', '4c78a8', 'ffffff'],
    )
  })
})

describe('chart.Line', () => {
  const path = (svg: string) => /<path[^>]* d="(M[^"]+)"/.exec(group(svg, 'mark'))![1]!.split(/[ML]/).slice(1)

  test('goes from the lowest x to the highest', async () => {
    const rows = [
      { x: 20, y: '4' },
      { x: 0, y: 0 },
      { x: 10, y: 2 },
      { x: 5, y: null },
    ]
    const points = path(await svgOf('chart.Line', { rows, x: 'x', y: 'y', ...SMALL })).map((one) =>
      one.split(',').map(Number),
    )
    assert.equal(points.length, 3)
    const [[x0, y0], [x1, y1], [x2, y2]] = points as [number[], number[], number[]]
    assert.ok(Math.abs(x0! + x2! - 2 * x1!) < 0.01 && Math.abs(y0! + y2! - 2 * y1!) < 0.01)
    assert.deepEqual([x0, y2], [0, 0])
  })

  test('reads times, in UTC, and draws points', async () => {
    const rows = ['2026-03-01', '2026-03-02T00:00', '2026-03-03T02:00:00+02:00'].map((t, y) => ({ t, y }))
    const svg = await svgOf('chart.Line', { rows, x: 't', y: 'y', points: true, width: 300, height: 200 })
    const labels = texts(svg, 'axis-label')
    assert.ok(labels.includes('Mar 2') && labels.includes('12:00'), labels.join())
    assert.equal(svg.match(/<path[^>]*role="[^"]*"|<path[^>]*d="M[\d.]+,0A/g)?.length, 3)
    await assert.rejects(
      svgOf('chart.Line', { rows: [{ t: '2026-02-30', y: 1 }], x: 't', y: 'y', x_kind: 'time' }),
      failsAs('bad_input', /Row 1.*"t".*not a time/),
    )
  })

  test('shows a line of one point, and writes its position briefly', async () => {
    const one = await svgOf('chart.Line', { rows: [{ x: 5, y: 0 }], x: 'x', y: 'y', ...SMALL })
    assert.equal(one.match(/<path[^>]*d="M[\d.]+,0A/g)?.length, 1)
    assert.deepEqual(texts(one, 'axis-label'), ['5', '0'])
  })

  test('reads whole numbers such as 1995 as years, which have no comma', async () => {
    const labels = async (...xs: number[]) => {
      const rows = xs.map((x, y) => ({ x, y: y * 1_000 }))
      return texts(await svgOf('chart.Line', { rows, x: 'x', y: 'y', ...SMALL }), 'axis-label')
    }
    const years = await labels(1990, 1995, 2000)
    assert.ok(years.includes('1990') && years.includes('2,000'), years.join())
    assert.ok((await labels(1990, 2000, 5000)).includes('5,000'))
  })

  test('has one line for each colour', async () => {
    const svg = await svgOf('chart.Line', { rows: SALES, x: 'shop', y: 'sold', colour: 'kind', ...SMALL })
    assert.deepEqual([...new Set(svg.match(/stroke="#(?:4c78a8|f58518)"/g))], ['stroke="#4c78a8"', 'stroke="#f58518"'])
  })
})

test('chart.Scatter draws a point for each row', async () => {
  const rows = [
    { a: 10, b: 100 },
    { a: 12, b: 104 },
    { a: '', b: 1 },
  ]
  const svg = await svgOf('chart.Scatter', { rows, x: 'a', y: 'b', ...SMALL })
  const points = [...group(svg, 'mark').matchAll(/translate\(([\d.]+),([\d.]+)\)/g)].map(([, x, y]) => [
    Number(x),
    Number(y),
  ])
  assert.equal(points.length, 2)
  assert.ok(points[0]![0]! < points[1]![0]! && points[0]![1]! > points[1]![1]!)
  assert.ok(texts(svg, 'axis-label').every((label) => Number(label) !== 0))
})

test('chart.Histogram counts what lies in each range', async () => {
  const rows = [1, 2, 2.5, 3, 3, 3.9, 9].map((v) => ({ v }))
  const svg = await svgOf('chart.Histogram', { rows, x: 'v', y_title: 'how many', ...SMALL })
  const heights = bars(svg).map((bar) => Number(/×(\d+)/.exec(bar)![1]))
  const tallest = Math.max(...heights)
  assert.deepEqual(
    heights.map((height) => Math.round((height / tallest) * 3)),
    [1, 2, 3, 1],
  )
  assert.deepEqual(texts(svg, 'axis-title'), ['v', 'how many'])
})

test('chart.Pie draws shares of a whole', async () => {
  const rows = [
    { n: 'half', v: 1 },
    { n: 'a', v: 1 },
    { n: 'b', v: 1 },
    { n: 'half', v: 1 },
  ]
  const inputs = { rows, names: 'n', values: 'v', width: 200, height: 200 }
  const svg = await svgOf('chart.Pie', inputs)
  assert.deepEqual(texts(svg, 'legend-label'), ['half', 'a', 'b'])
  assert.equal(group(svg, 'mark').match(/<path/g)?.length, 3)
  const png = await pictureOf('chart.Pie', { ...inputs, hole: 0.5 })
  const { data, info } = await sharp(png.data).raw().toBuffer({ resolveWithObject: true })
  const seen = new Map<string, number>()
  for (let at = 0; at < data.length; at += info.channels) {
    const colour = data.subarray(at, at + 3).toString('hex')
    seen.set(colour, (seen.get(colour) ?? 0) + 1)
  }
  const [half, a, b] = ['4c78a8', 'f58518', 'e45756'].map((colour) => seen.get(colour)!)
  assert.ok(Math.abs(half! / a! - 2) < 0.15 && Math.abs(a! / b! - 1) < 0.1, `${half} ${a} ${b}`)
  await assert.rejects(svgOf('chart.Pie', { ...inputs, rows: [{ n: 'a', v: -1 }] }), failsAs('bad_input', /negative/))
  await assert.rejects(svgOf('chart.Pie', { ...inputs, rows: [{ n: 'a', v: 0 }] }), failsAs('bad_input', /sum up/))
})

describe('charts', () => {
  const bar = (rows: unknown[], more: Record<string, unknown> = {}) =>
    svgOf('chart.Bar', { rows, x: 'x', y: 'y', ...more })

  test('refuse what cannot be drawn', async () => {
    await assert.rejects(bar([{ x: 'a', y: 'many' }]), failsAs('bad_input', /Row 1 .*"y" that is not a number/))
    await assert.rejects(bar([{ x: 'a', y: 1.7e308 }]), failsAs('bad_input', /Row 1 .*can be drawn/))
    await assert.rejects(bar([{ x: {}, y: 1 }]), failsAs('bad_input', /not a text/))
    await assert.rejects(bar([{ x: 'a', z: 1 }]), failsAs('unknown_column', /"y"/))
    await assert.rejects(bar([{ x: 'a', y: null }]), failsAs('bad_input', /nothing to draw/))
    await assert.rejects(bar([]), failsAs('bad_input', /nothing to draw/))
    await assert.rejects(bar([7]), failsAs('bad_input', /Row 1/))
  })

  test('leave room for all texts, none of which leaves the picture', async () => {
    const long = 'The department for the administration of everything else there is, number'
    const rows = Array.from({ length: 60 }, (_, y) => ({ x: `${long} ${y}`, y: y + 1, z: `${long} ${y}` }))
    const words = { title: long.repeat(3), x_title: long.repeat(3), y_title: long.repeat(3) }
    for (const more of [{}, { horizontal: true }, { colour: 'z' }, { horizontal: true, colour: 'z' }]) {
      const inputs = { rows: rows.slice(0, 8), x: 'x', y: 'y', ...words, ...more, width: 400, height: 300 }
      const svg = await svgOf('chart.Bar', inputs)
      const [tallest, widest] = [3, 2].map((at) => Math.max(...bars(svg).map((one) => Number(one.split(/[, ×]/)[at]))))
      assert.ok(
        tallest! > ('horizontal' in more ? 10 : 60) && widest! > ('horizontal' in more ? 120 : 15),
        bars(svg).join(),
      )
      assert.match(texts(svg, 'title-text')[0]!, /^The department.*…$/)
      assert.ok(await hasMargin('chart.Bar', inputs), JSON.stringify(more))
    }
    const lines = { rows, x: 'y', y: 'y', colour: 'z', width: 400, height: 300 }
    const many = await svgOf('chart.Line', lines)
    assert.match(texts(many, 'legend-label').at(-1)!, /^…\d+ entries$/)
    assert.ok(await hasMargin('chart.Line', lines))
    const crowded = await bar(Array.from({ length: 200 }, (_, y) => ({ x: `n${y}`, y })))
    const hidden = crowded.match(/<text[^>]*opacity="0"[^>]*>n\d/g)!
    assert.ok(hidden.length > 100 && hidden.length < 180, String(hidden.length))
    const pie = await svgOf('chart.Pie', { rows, names: 'x', values: 'y', ...SMALL, title: long })
    assert.equal(group(pie, 'mark').match(/<path/g)?.length, 60)
  })

  /** Whether the edges are white, so that nothing was cut off there. */
  async function hasMargin(type: string, inputs: Record<string, unknown>): Promise<boolean> {
    const { data: png } = await pictureOf(type, inputs)
    const { data, info } = await sharp(png).greyscale().raw().toBuffer({ resolveWithObject: true })
    const { width, height } = info
    const white = (x: number, y: number) => data[y * width + x]! > 250
    const rows = Array.from({ length: height }, (_, y) => white(0, y) && white(width - 1, y))
    const columns = Array.from({ length: width }, (_, x) => white(x, 0) && white(x, height - 1))
    return [...rows, ...columns].every((one) => one)
  }

  test('refuse what is too much, and draw the next', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, y) => ({ x: `n${y}`, y }))
    await assert.rejects(bar(many(50_001)), failsAs('too_large', /50,000 rows/))
    await assert.rejects(bar(many(1_500)), failsAs('too_large', /1,000 names/))
    await assert.rejects(bar([{ x: 'x'.repeat(501), y: 1 }]), failsAs('too_large', /500 characters/))
    await assert.rejects(
      bar(many(2), { width: 8_000, height: 8_000, scale: 4, format: 'png' }),
      failsAs('too_large', /longer/),
    )
    await assert.rejects(
      svgOf('chart.Scatter', { rows: many(20_001), x: 'y', y: 'y' }),
      failsAs('too_large', /20,000 points/),
    )
    assert.equal(bars(await bar(many(2))).length, 2)
  })
})
