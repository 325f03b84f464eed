import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { cliOf } from '../support/cli.ts'
import { TestServer } from '../support/server.ts'
import { AtTerminal, CTRL_C, CTRL_D, NO_TERMINAL } from '../support/terminal.ts'

describe('gantry chat', () => {
  let server: TestServer
  before(async () => {
    server = await TestServer.start()
  })
  after(() => server[Symbol.asyncDispose]())

  test('a model that is none is said, and the talk goes on', async () => {
    const input = '/model nope\n/model\n'
    const { code, stderr } = await cliOf(server)(['chat', '--model', 'demo/guide'], { input })
    assert.match(stderr, /there is no LLM profile "nope"[^\n]*\nThe model is demo\/guide\n$/)
    assert.equal(code, 0)
  })

  test('Ctrl-C says how to leave on a line of its own, and what was typed is still there', {
    skip: NO_TERMINAL,
  }, async () => {
    await using terminal = new AtTerminal(['chat', '--data', server.data, '--model', 'demo/guide'])
    await terminal.shows(/> $/)
    terminal.type('/co')
    await terminal.shows(/> \/co$/)
    terminal.type(CTRL_C)
    await terminal.shows(/\n\(once more quits; so do \/quit and Ctrl-D\)\n> \/co$/)
    terminal.type('st\r')
    await terminal.shows(/tokens in, \d+ out\n> $/)
    terminal.type(CTRL_D)
    assert.equal(await terminal.ended(), 0)
    assert.match(terminal.text, /> \n$/, 'the shell begins on a line of its own')
  })
})
