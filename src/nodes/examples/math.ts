// Examples of nodes that calculate with numbers.
import type { NodeExamples } from './node-example.ts'

export const mathExamples: NodeExamples = {
  'math.Correlation': { data: { x: [1, 2, 3, 4], y: [10, 20, 30, 40] }, outputs: { output: 1 } },
  'math.FormatNumber': {
    data: { value: 1234567.891, max_digits: 2, locale: 'de' },
    outputs: { output: '1.234.567,89' },
  },
  'math.Formula': {
    data: { formula: 'price * (1 + tax / 100)' },
    inputs: { price: 50, tax: 19 },
    outputs: { output: 59.5 },
  },
  'math.Histogram': {
    data: { list: [1, 2, 2, 5, 7, 8, 9], bins: 3, min: 0, max: 9 },
    outputs: {
      output: [
        { from: 0, to: 3, count: 3 },
        { from: 3, to: 6, count: 1 },
        { from: 6, to: 9, count: 3 },
      ],
      outside: 0,
    },
  },
  'math.LinearRegression': { data: { x: [1, 2, 3], y: [5, 7, 9] }, outputs: { slope: 2, intercept: 3, r_squared: 1 } },
  'math.ParseNumber': { data: { text: '1.234,5', locale: 'de' }, outputs: { output: 1234.5 } },
  'math.Quantile': { data: { list: [10, 20, 30, 40, 50], q: 0.9 }, outputs: { output: 46 } },
  'math.Round': { data: { value: 12.3456, digits: 2 }, outputs: { output: 12.35 } },
}
