// What a user of the Go client of openapi-generator writes. Arguments: URL, token, workflow.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"

	service "example.org/client"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	configuration := service.NewConfiguration()
	configuration.Servers = service.ServerConfigurations{{URL: os.Args[1]}}
	client := service.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), service.ContextAccessToken, os.Args[2])

	var workflow service.CreateWorkflowRequest
	check(json.Unmarshal([]byte(os.Args[3]), &workflow))
	made, _, err := client.WorkflowsAPI.CreateWorkflow(ctx).CreateWorkflowRequest(workflow).Execute()
	check(err)

	run := service.NewRunRequest()
	run.SetParams(map[string]interface{}{"name": "Ada"})
	result, _, err := client.WorkflowsAPI.RunWorkflow(ctx, made.Id).RunRequest(*run).Execute()
	check(err)
	fmt.Println(*result.Outputs["greeting"])

	jobs, _, err := client.JobsAPI.ListJobs(ctx).Execute()
	check(err)
	job := jobs[0].JobSnapshotCompleted
	fmt.Println(len(jobs), "job", job.Status)

	events, _, err := client.JobsAPI.FollowJobEvents(ctx, job.JobId).AfterSequence(0).Execute()
	check(err)
	end := events[len(events)-1].JobCompletedEvent
	fmt.Println(end.Type, end.Status)

	_, _, err = client.WorkflowsAPI.GetWorkflow(ctx, "wf_none").Execute()
	var failure *service.GenericOpenAPIError
	if !errors.As(err, &failure) {
		log.Fatal("no error of the service: ", err)
	}
	told := failure.Model().(service.ApiError).Error
	fmt.Println(told.Code, told.Type)
}
