import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { NO_BROWSER } from '../support/browser.ts'
import { count } from '../support/server.ts'
import { CLIPBOARD, clipboard, log, Onlooker, scrollToTop } from '../support/timeline.ts'
import { until } from '../support/wait.ts'

describe('the timeline of a long conversation', { skip: NO_BROWSER }, () => {
  let onlooker: Onlooker
  before(async () => {
    onlooker = await Onlooker.start()
  })
  after(() => onlooker?.[Symbol.asyncDispose]())

  test('a log of any length scrolls from end to end, and only what is near is drawn', async () => {
    const talk = await onlooker.rig.begin({ script: [] })
    const all = count({ sample: 600, deep: 10_000 })
    const line = (n: number) => `Message ${n}.${' More words.'.repeat(n % 40)}`
    for (let n = 1; n <= all; n += 20)
      await Promise.all(Array.from({ length: Math.min(20, all - n + 1) }, (_, at) => talk.say(line(n + at), false)))
    const events = (await talk.events()).filter(({ kind }) => kind === 'MessageEvent')
    const textAt = (at: number) => /Message \d+\./.exec(JSON.stringify(events[at]))![0]
    const page = await onlooker.look(talk, '', CLIPBOARD)
    const shows = (at: number) => log(page).getByText(textAt(at)).first()
    const drawn = () => log(page).evaluate(element => element.querySelectorAll('*').length)
    await shows(-1 + events.length).waitFor()

    // Earlier ones are read as somebody scrolls up, and what is looked at stays where it is.
    const jumps = await log(page).evaluate(async element => {
      /** Where it was last painted: at any other moment it may be on its way back to there. */
      const painted = (one: Element) =>
        new Promise<number>(resolve => {
          const observer = new IntersectionObserver(([entry]) => {
            observer.disconnect()
            resolve(entry!.boundingClientRect.top)
          })
          observer.observe(one)
        })
      const jumps: number[] = []
      for (let step = 0; step < 60; step++) {
        element.scrollTop -= 150
        const { top } = element.getBoundingClientRect()
        const seen = [...element.querySelectorAll('[data-item]')].find(one => one.getBoundingClientRect().top > top)
        if (!seen) continue
        const before = await painted(seen)
        const after = await painted(seen)
        if (seen.isConnected && Math.abs(after - before) > 2) jumps.push(after - before)
      }
      return jumps
    })
    assert.deepEqual(jumps, [])

    await scrollToTop(page)
    await log(page).getByRole('button', { name: 'Go to the first event' }).click()
    await until('the first event is there', () => shows(0).isVisible(), 60_000)
    assert.ok((await drawn()) < 5000, `${await drawn()} elements`)

    await talk.say('News from the end', false)
    const latest = page.getByRole('button', { name: /^Jump to latest/ })
    await latest.getByText('1 new').waitFor()
    await latest.click()
    await log(page).getByText('News from the end').waitFor()
    await until('it can be seen', () => log(page).getByText('News from the end').isVisible())
    await latest.waitFor({ state: 'detached' })

    const middle = Math.floor(events.length / 2)
    await page.goto(`${onlooker.rig.server.url}/#/c/${talk.id}?event=${events[middle]!.id}`)
    await log(page).locator('[data-marked]').getByText(textAt(middle)).waitFor()
    const place = await log(page).locator('[data-marked]').boundingBox()
    assert.ok(place && place.y > 0 && place.y < 700, JSON.stringify(place))
    await log(page).locator('[data-marked]').hover()
    await log(page).locator('[data-marked]').getByRole('button', { name: 'More about this event' }).click()
    await page.getByRole('menuitem', { name: 'Copy link' }).click()
    await until('the link is copied', async () => (await clipboard(page)).endsWith(`?event=${events[middle]!.id}`))
    assert.ok((await drawn()) < 5000, `${await drawn()} elements`)
  })

  test('nothing complained', () => assert.deepEqual(onlooker.complaints, []))
})
