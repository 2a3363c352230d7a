// The steps of a kafkajs admin on each of the given servers. A line has the server, the step and its outcome.
const fs = require('fs')
const { Kafka, logLevel, ConfigResourceTypes } = require('kafkajs')

const topic = 'kafkajs'

// With STEPS_CA: by SASL/PLAIN over TLS.
function login() {
  const { STEPS_CA, STEPS_USER, STEPS_PASSWORD } = process.env
  if (!STEPS_CA) return {}
  return {
    ssl: { ca: [fs.readFileSync(STEPS_CA, 'utf-8')] },
    sasl: { mechanism: 'plain', username: STEPS_USER, password: STEPS_PASSWORD }
  }
}

async function steps(number, address) {
  const kafka = new Kafka({
    clientId: 'steps', brokers: [address], logLevel: logLevel.NOTHING, retry: { retries: 2 }, ...login()
  })
  const admin = kafka.admin()
  const step = async (name, action) => {
    let outcome
    try {
      outcome = JSON.stringify(await action()) ?? 'undefined'
    } catch (error) {
      outcome = error.type ?? error.errors?.map(each => each.type).join() ?? error.name
    }
    console.log(`${number}|${name}|${outcome.replaceAll(address, 'SERVER')}`)
  }
  const topics = async () => (await admin.fetchTopicMetadata({ topics: [topic] })).topics
  const until = async (name, action, wanted) => {
    for (let turn = 0; turn < 200; turn++) {
      const found = await action().catch(error => error.type)
      if (JSON.stringify(found) === JSON.stringify(wanted)) break
      await new Promise(resolve => setTimeout(resolve, 50))
    }
    await step(name, action)
  }

  await step('connect', () => admin.connect())
  await step('cluster', async () => (await admin.describeCluster()).brokers.map(each => each.nodeId))
  await step('create', () => admin.createTopics({ topics: [{ topic, numPartitions: 2, replicationFactor: 1 }] }))
  await until('created', async () => (await admin.listTopics()).includes(topic), true)
  await until('partitions', async () => (await topics())[0].partitions.length, 2)
  await step('offsets', async () => (await admin.fetchTopicOffsets(topic)).sort((a, b) => a.partition - b.partition))
  await step('offsets by time', async () =>
    (await admin.fetchTopicOffsetsByTimestamp(topic, 1000)).sort((a, b) => a.partition - b.partition)
  )
  await step('grow', () => admin.createPartitions({ topicPartitions: [{ topic, count: 3 }] }))
  await until('grown', async () => (await topics())[0].partitions.length, 3)
  const resource = { type: ConfigResourceTypes.TOPIC, name: topic }
  await step('alter', () =>
    admin.alterConfigs({
      resources: [{ ...resource, configEntries: [{ name: 'retention.ms', value: '2000' }] }],
    })
  )
  const retention = async () => {
    const found = await admin.describeConfigs({
      resources: [{ ...resource, configNames: ['retention.ms'] }],
      includeSynonyms: false,
    })
    return found.resources[0].configEntries.map(each => [each.configName, each.configValue, each.configSource])
  }
  await until('altered', retention, [['retention.ms', '2000', 1]])
  await step('groups', () => admin.listGroups())
  await step('group', () => admin.describeGroups(['none']))
  await step('group offsets', () => admin.fetchOffsets({ groupId: 'none', topics: [topic] }))
  await step('delete group', () => admin.deleteGroups(['none']))
  await step('delete records', () =>
    admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '0' }] })
  )
  await step('reassignments', () => admin.listPartitionReassignments({}))
  await step('reassign', () =>
    admin.alterPartitionReassignments({
      topics: [{ topic, partitionAssignment: [{ partition: 0, replicas: [1] }] }],
    })
  )
  await step('acls', () =>
    admin.describeAcls({ resourceType: 2, resourceName: 'x', resourcePatternType: 3, operation: 1, permissionType: 1 })
  )
  await step('delete', () => admin.deleteTopics({ topics: [topic] }))
  await until('deleted', async () => (await admin.listTopics()).includes(topic), false)
  await admin.disconnect()
}

;(async () => {
  for (const [index, address] of process.argv.slice(2).entries()) await steps(index + 1, address)
})()
