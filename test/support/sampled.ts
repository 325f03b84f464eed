import { type TestContext, type TestOptions, test } from 'node:test'
import { Random } from './random.ts'
import { DEEP } from './server.ts'

type Body = (t: TestContext) => void | Promise<void>
type Test = (name: string, optionsOrBody: TestOptions | Body, body?: Body) => void

/** Tries one test in so many, others by another seed; all of them in the deep tier. For what takes long and is alike. */
export function sampled(oneIn: number): Test {
  let number = new Random().int(oneIn)
  return (name, optionsOrBody, body = optionsOrBody as Body) => {
    const options = typeof optionsOrBody === 'function' ? {} : optionsOrBody
    number += 1
    const isChosen = DEEP || number % oneIn === 0
    test(name, isChosen ? options : { skip: 'not in the sample: npm run test:deep' }, body)
  }
}
